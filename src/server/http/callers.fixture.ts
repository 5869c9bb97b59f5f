import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { ok } from "../../core/result.ts";
import { given } from "../../session/world.fixture.ts";
import { LOCAL_TENANT, type RequestAuthenticator } from "./authenticator.ts";
import type { Caller } from "./route.ts";
import type { ServerWorld } from "./server.fixture.ts";

/** Believes a token such as `acme/ada`, a member; `operator` is the operator's. */
export const BY_NAME: RequestAuthenticator = {
  needsToken: true,
  authenticate(authorization = "") {
    const [, tenant = "", user = ""] = /^Bearer (\S+)\/(\S+)$/.exec(authorization) ?? [];
    if (authorization === "Bearer operator") {
      return ok<Caller>({ tenantId: LOCAL_TENANT, userId: null, role: "owner" });
    }
    if (tenant === "") return ok(null);
    const caller = { tenantId: given(parseTenantId(tenant)), userId: given(parseUserId(user)) };
    return ok<Caller>({ ...caller, role: "viewer" });
  },
};

export interface Sender {
  readonly token?: string;
  /** An address of this machine: all of 127.0.0.0/8 is. */
  readonly from?: string;
}

function bearer({ token }: Sender): Readonly<Record<string, string>> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** A bare socket from this address. */
export function socketFrom({ port }: ServerWorld, from = "127.0.0.1"): Socket {
  return connect({ port, host: "127.0.0.1", localAddress: from });
}

/** The head of a request, whose body is up to the test. */
export function headOf(
  { port }: ServerWorld,
  line: string,
  sender: Sender,
  headers: Readonly<Record<string, string>> = {},
): string {
  const all = { Host: `127.0.0.1:${port}`, ...bearer(sender), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return [`${line} HTTP/1.1`, ...lines, "", ""].join("\r\n");
}

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends one request on a connection of its own. */
export function sendAs(
  { port }: ServerWorld,
  sender: Sender,
  method: string,
  path: string,
  body?: string,
): Promise<Received> {
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const headers = { ...bearer(sender), ...type };
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const localAddress = sender.from ?? "127.0.0.1";
  const options = { port, host: "127.0.0.1", localAddress, method, path, headers, agent: false };
  const sent = request(options, async (response) => {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    const { statusCode: status = 0, headers: got } = response;
    resolve({ status, headers: got, body: text === "" ? {} : JSON.parse(text) });
  });
  sent.on("error", reject).end(body);
  return promise;
}
