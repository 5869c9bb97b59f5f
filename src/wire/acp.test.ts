import * as stable from "@agentclientprotocol/sdk";
import { describe, expect, it } from "vitest";
import { ACP_VERSION, CANCEL_REQUEST } from "./acp.ts";

// test/acp-coverage.test.ts compares the names of methods.
describe("our names of the protocol", () => {
  it("have the SDK's version", () => {
    expect(ACP_VERSION).toBe(stable.PROTOCOL_VERSION);
  });

  it("have the word for a request that is not wanted any more", () => {
    expect(CANCEL_REQUEST).toBe(stable.PROTOCOL_METHODS.cancel_request);
  });
});
