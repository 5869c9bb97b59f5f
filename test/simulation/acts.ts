import type { Some } from "./chance.ts";

/** What a client does in a session by a command of its own. */
type ClientAct =
  | "attach"
  | "detach"
  | "prompt"
  | "steer"
  | "cancel"
  | "remove"
  | "rename"
  | "approve"
  | "chooseMode"
  | "close"
  | "resume"
  | "vote";

/** What it does beside the conversation. */
export type ErrandAct =
  | "shell"
  | "cancelTask"
  | "model"
  | "fork"
  | "export"
  | "delete"
  | "btw"
  | "recap";

export type Act =
  | ClientAct
  | ErrandAct
  | "create"
  | "crowd"
  | "storm"
  | "wait"
  | "recover"
  | "replay"
  | "subscribe"
  | "unsubscribe"
  | "watch"
  | "retry";

/** How likely each is; together they are about a hundred. */
export const ACTS: Some<readonly [Act, number]> = [
  ["prompt", 24],
  ["retry", 6],
  ["vote", 8],
  ["cancel", 5],
  ["steer", 4],
  ["attach", 8],
  ["detach", 3],
  ["rename", 2],
  ["approve", 3],
  ["chooseMode", 2],
  ["remove", 1],
  ["close", 2],
  ["resume", 2],
  ["replay", 3],
  ["create", 4],
  ["storm", 1],
  ["crowd", 1],
  ["wait", 1],
  ["recover", 1],
  ["subscribe", 5],
  ["unsubscribe", 1],
  ["watch", 1],
  ["shell", 5],
  ["cancelTask", 1],
  ["model", 4],
  ["fork", 4],
  ["export", 1],
  ["delete", 1],
  ["btw", 2],
  ["recap", 1],
];
