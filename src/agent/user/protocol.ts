import { z } from "zod";
import { ERRORS, type ErrorCode } from "../../core/error.ts";
import { once } from "../../platform/once.ts";

const id = () => z.int().min(1);
const texts = () => z.array(z.string());

/**
 * The lines between the server and the process that uses files as the agents' user. Both sides are
 * programs of this package, but agents of that user may stop the process or end it.
 */
export const userRequest = once(() => {
  const file = {
    id: id(),
    workspace: z.string(),
    path: z.string(),
    own: z.strictObject({ closed: texts(), readable: texts(), open: texts() }),
    permitted: z.string().optional(),
  };
  return z.discriminatedUnion("do", [
    z.strictObject({ do: z.literal("locate"), ...file, to: z.enum(["read", "write"]) }),
    z.strictObject({
      do: z.literal("read"),
      ...file,
      line: z.number().nullable(),
      limit: z.number().nullable(),
    }),
    z.strictObject({ do: z.literal("write"), ...file, content: z.string() }),
    /** The server's answer to `record`. */
    z.strictObject({ do: z.literal("recorded"), id: id(), isRecorded: z.boolean() }),
    z.strictObject({ do: z.literal("identify"), id: id(), path: z.string() }),
    z.strictObject({ do: z.literal("empty"), id: id(), folder: z.string() }),
    z.strictObject({ do: z.literal("marks"), id: id(), pids: z.array(id()) }),
    z.strictObject({ do: z.literal("check_home"), id: id(), home: z.string() }),
    z.strictObject({ do: z.literal("check_workspace"), id: id(), workspace: z.string() }),
    z.strictObject({
      do: z.literal("check_own"),
      id: id(),
      secret: texts(),
      loaded: texts(),
      owner: z.int(),
    }),
  ]);
});

export type UserRequest = z.output<ReturnType<typeof userRequest>>;

export const userAnswer = once(() => {
  const fact = z.union([z.string(), z.number(), z.record(z.string(), z.unknown())]);
  const details = z.record(z.string(), fact);
  const errorCode = z.custom<ErrorCode>(
    (value) => typeof value === "string" && Object.hasOwn(ERRORS, value),
  );
  return z.union([
    /** It has become the user. */
    z.strictObject({ ready: z.literal(true) }),
    /** It is about to act, and waits until that is recorded. */
    z.strictObject({
      id: id(),
      record: z.strictObject({ act: z.string(), details: z.record(z.string(), z.json()) }),
    }),
    z.strictObject({ id: id(), value: z.json() }),
    z.strictObject({ id: id(), refusal: z.strictObject({ code: errorCode, details }) }),
  ]);
});

export type UserAnswer = z.output<ReturnType<typeof userAnswer>>;

/** The values of the answers. */
export const userValues = once(() => {
  const fault = z
    .strictObject({ path: z.string(), reason: z.string(), command: z.string() })
    .nullable();
  return {
    locate: z.string(),
    read: z.strictObject({ content: z.string() }),
    write: z.null().transform(() => undefined),
    identify: z.strictObject({ dev: z.number(), ino: z.number() }).nullable(),
    empty: z.null().transform(() => undefined),
    marks: z.array(
      z.strictObject({
        pid: id(),
        marker: z.string().nullable(),
        isBlank: z.boolean(),
        isHidden: z.literal(false),
      }),
    ),
    check_home: fault,
    check_workspace: z.strictObject({ fault, readOnly: fault }),
    check_own: fault,
  };
});
