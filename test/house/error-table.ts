/** The part of an error's row in core that its documentation must repeat. */
interface DocumentedError {
  readonly status: number;
  readonly name: string;
  readonly retry: string;
}

type DocumentedErrors = Readonly<Record<string, DocumentedError>>;

/**
 * One sentence for each difference between the error codes and docs/errors.md: the rows of codes,
 * and the rows that give the specifications' name for each code.
 */
export function errorTableFaults(errors: DocumentedErrors, page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `(\w+)` \|(.*)$/gm)].map(([, code = "", cells = ""]) => {
    return { code, cells: cells.split("|").map((cell) => cell.replaceAll("`", "").trim()) };
  });
  const codes = rows.map(({ code }) => code);
  const cellFaults = rows.flatMap(({ code, cells }) => {
    const error = Object.hasOwn(errors, code) ? errors[code] : undefined;
    if (!error) return [];
    const { status, retry } = error;
    const isAdvised = cells.some((text) => text.startsWith(`${retry}: `));
    return [
      ...(cells.includes(`${status}`) ? [] : [`${code} has a row without ${status}`]),
      ...(isAdvised ? [] : [`${code} has a row without ${retry}:`]),
    ];
  });
  return [
    ...differences(Object.keys(errors), codes, "error code"),
    ...cellFaults,
    ...nameFaults(errors, page),
  ];
}

function nameFaults(errors: DocumentedErrors, page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `(\w+\/\w+)` \| `(\w+)` \|$/gm)];
  const documented = rows.map(([, name, code]) => `the name ${name} of ${code}`);
  const known = Object.entries(errors).map(([code, { name }]) => `the name ${name} of ${code}`);
  return differences(known, documented, "name");
}

/** The same for the codes of `turn_error`, whose rows begin with `turn_error{code}`. */
export function turnErrorTableFaults(codes: readonly string[], page: string): readonly string[] {
  const rows = [...page.matchAll(/^\| `turn_error\{([^}]*)\}` \|/gm)];
  const documented = rows.map(([, code = ""]) => code);
  return differences(codes, documented, "code of turn_error");
}

function differences(codes: readonly string[], documented: readonly string[], kind: string) {
  return [
    ...codes.filter((code) => !documented.includes(code)).map((code) => `${code} has no row`),
    ...documented.flatMap((code, index) => {
      if (!codes.includes(code)) return [`${code} has a row but is no ${kind}`];
      return documented.indexOf(code) === index ? [] : [`${code} has two rows`];
    }),
  ];
}
