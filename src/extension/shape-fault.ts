import type { z } from "zod";
import { didYouMean } from "../core/spelling.ts";
import type { DataFault } from "./plain-data.ts";

/** The first fault of what people have written, where and why. */
export function shapeFault(error: z.ZodError, fields: readonly string[]): DataFault {
  const [first = { path: "", reason: "it is not of its form" }] = shapeFaults(error, fields);
  return first;
}

/**
 * All faults. Of a field that there is not, the path is that field, and the reason says which one
 * was meant.
 */
export function shapeFaults({ issues }: z.ZodError, fields: readonly string[]): DataFault[] {
  return issues.flatMap((issue) => {
    const above = issue.path.map(String);
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => {
        const meant = didYouMean(key, fields);
        return { path: [...above, key].join("."), reason: `there is no such field${meant}` };
      });
    }
    const said = issue.message.replace(/^Invalid \w+: /, "");
    const reason = said.replace(/^expected (.+), received undefined$/, "it is missing, a $1");
    return [{ path: above.join("."), reason }];
  });
}
