import * as stable from "@agentclientprotocol/sdk";
import * as unstable from "@agentclientprotocol/sdk/unstable";
import { describe, expect, it } from "vitest";
import { ACP_VERSION, AGENT_METHODS, CANCEL_REQUEST, CLIENT_METHODS } from "./acp.ts";

/** Methods of the official SDK that we neither call nor serve, each for a reason. */
const NOT_OURS = [
  "logout", // A person signs in and out by hand.
  "session/delete", // Our sessions are ours; what an agent keeps of them is its own.
];

const STABLE = Object.values<string>(stable.AGENT_METHODS);

describe("our names of the protocol", () => {
  it("have the SDK's version", () => {
    expect(ACP_VERSION).toBe(stable.PROTOCOL_VERSION);
  });

  it("have every method of an agent that is stable, or a reason why not", () => {
    const { setModel, forkSession, ...ours } = AGENT_METHODS;
    expect([...Object.values(ours), ...NOT_OURS].toSorted()).toEqual(STABLE.toSorted());
    expect(forkSession).toBe(unstable.AGENT_METHODS.session_fork);
    // Gone from the SDK, and the reason to have a name of our own.
    expect(Object.values<string>(unstable.AGENT_METHODS)).not.toContain(setModel);
  });

  it("have every method of a client that is stable", () => {
    expect(Object.values<string>(CLIENT_METHODS).toSorted()).toEqual(
      Object.values<string>(stable.CLIENT_METHODS).toSorted(),
    );
  });

  it("have the word for a request that is not wanted any more", () => {
    expect(CANCEL_REQUEST).toBe(stable.PROTOCOL_METHODS.cancel_request);
  });
});
