import { z } from "zod";

/** The schemas that have a name of their own in the description of the routes. */
export const NAMED_SCHEMAS = z.registry<{ readonly id: string }>();

/**
 * A schema that is described once, under its name. It is made when it is first needed, because no
 * server needs it to start.
 */
export function named<Schema extends z.ZodType>(name: string, make: () => Schema): () => Schema {
  let made: Schema | null = null;
  return () => {
    if (made !== null) return made;
    made = make();
    NAMED_SCHEMAS.add(made, { id: name });
    return made;
  };
}
