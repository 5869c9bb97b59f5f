/**
 * Makes a value when it is first needed. It is for schemas: building one takes longer than most of
 * them are used for, and a server has hundreds.
 */
export function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
