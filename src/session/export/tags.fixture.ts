/** What is wrong with some HTML of ours: what we never write, and what is left open. */
export function faultsIn(html: string): readonly string[] {
  const faults: string[] = [];
  const open: string[] = [];
  const rest = html.replace(/<(\/?)([a-z][a-z0-9]*)((?: [a-z]+="[^"<>]*")*)>/g, (...found) => {
    const [tag = "", slash = "", name = "", attributes = ""] = found.map(String);
    if (!KNOWN.has(name)) faults.push(`${tag} is no tag of ours`);
    if (attributes !== "" && !ATTRIBUTES.test(attributes)) faults.push(`${tag} says too much`);
    if (slash === "" && name === "a" && open.includes("a")) faults.push("a link in a link");
    if (slash === "" && !VOID.has(name)) open.push(name);
    if (slash !== "" && open.pop() !== name) faults.push(`${tag} closes something else`);
    return "";
  });
  if (/[<>"']/.test(rest)) faults.push(`markup that is none: ${rest.slice(0, 100)}`);
  return [...faults, ...open.map((name) => `${name} is not closed`)];
}

const VOID = new Set(["br", "hr"]);
const KNOWN = new Set(
  `a b bdi blockquote br code del details div em footer h1 h2 h3 h4 h5 h6 header hr li ol p pre
   span strong summary table tbody td th thead tr ul`.split(/\s+/),
);
const ATTRIBUTES = new RegExp(
  [
    '^ class="[a-z ]+"$',
    '^ id="turn-\\d+"$',
    '^ start="\\d+"$',
    '^ class="(?:named|bare)" href="(?:https?://|mailto:)[^"]*" rel="noopener noreferrer"$',
  ].join("|"),
);

/** What a reader sees: the text without its tags. */
export function textIn(html: string): string {
  const text = html.replace(/<[^>]*>/g, "");
  const signs = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
  return Object.entries(signs).reduce(
    (all, [name, sign]) => all.replaceAll(`&${name};`, sign),
    text,
  );
}
