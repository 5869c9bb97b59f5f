import { z } from "zod";
import { named } from "../../../wire/named-schema.ts";

// Parts of answers that carry no meaning of their own. All are made when they are first needed.

export const text = () => z.string();
export const maybeText = () => z.string().nullable();
export const count = () => z.int().min(0);
export const flag = () => z.boolean();
export const names = () => z.array(z.string());

/** A time in UTC. */
export const time = named("Time", () => z.iso.datetime());
export const maybeTime = () => time().nullable();

/** Milliseconds since 1970. */
export const clockMs = () => z.number();

/** An object whose fields are those of the agent, or of the event that it is part of. */
export const open = () => z.record(z.string(), z.unknown());

/** The version of a shape of ours. */
export const one = () => z.literal(1);

/** Nothing that a program has to read. */
export const nothing = () => z.object({});

/** A stream of frames, each with this in its `data` line. */
export function streamOf(frame: z.ZodType) {
  return { media: { "text/event-stream": frame } };
}

export function fileOf(...mediaTypes: readonly string[]) {
  return { media: Object.fromEntries(mediaTypes.map((type) => [type, z.string()])) };
}
