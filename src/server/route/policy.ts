import { z } from "zod";
import type { JsonObject } from "../../core/json.ts";
import { policyBody, policyOf } from "../../session/index.ts";
import type { Daemon } from "../daemon.ts";
import { type Answer, answerTo, json, refused } from "../http/answer.ts";
import { readBody } from "../http/request-schema.ts";
import { type Route, route } from "../http/route.ts";

/** `version` is the one that the caller has read: two owners may change it at once. */
const newPolicy = z.strictObject({ version: z.int().min(0), policy: policyBody });

/** What the owners of the caller's tenant allow its users. Ours. */
export function policyRoutes({ sessions }: Daemon): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/tenant/policy",
      needs: "session:read",
      async handle({ caller }) {
        return answerTo(await sessions.policy.view(caller), policyAnswer);
      },
    }),
    route({
      method: "PUT",
      path: "/tenant/policy",
      gate: "strict",
      needs: "tenant:write",
      async handle({ caller, body }) {
        const read = readBody(newPolicy, body);
        if (!read.ok) return refused(read.refusal);
        const { version, policy } = read.value;
        const set = await sessions.policy.set(caller, { version, policy: policyOf(policy) });
        return answerTo(set, policyAnswer);
      },
    }),
  ];
}

function policyAnswer(view: object): Answer {
  const body: JsonObject = { v: 1, ...view };
  return json(200, body);
}
