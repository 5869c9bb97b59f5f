import type { Node } from "oxc-parser";
import { beforeAll, describe, expect, it } from "vitest";
import { routeTables, withTables } from "../scripts/route-tables.ts";
import { OPTION_NAMES, OPTIONS } from "../src/cli/serve/options.ts";
import { ERRORS } from "../src/core/error.ts";
import { EVENT_TYPES, type Fold, foldOf } from "../src/core/session/event-table.ts";
import { BUILT_INS } from "../src/core/slash/commands.ts";
import { DaemonWorld } from "../src/server/daemon.fixture.ts";
import { granted, IDLE } from "../src/server/http/server.fixture.ts";
import { openApiDocument } from "../src/server/openapi/document.ts";
import { allRoutes } from "../src/server/route/all-routes.ts";
import { featuresOf } from "../src/server/route/server-info.ts";
import { readServerSettings } from "../src/server/settings.ts";
import { CHANGE_ACTS, OTHER_ACTS } from "../src/session/audit/audited.ts";
import { readText, textsUnder } from "./house/files.ts";
import { nodesIn, programOf } from "./house/syntax.ts";
import { examplesIn, masked, type Played, play } from "./server/curl.fixture.ts";

// docs/protocol.md is what strangers write clients from. Here its examples are run, and its tables
// are held to the code in both directions.

const PAGE = readText("docs/protocol.md");

describe("the examples of docs/protocol.md", () => {
  const examples = examplesIn(PAGE);
  let played: Played = { printed: [], exitCode: null, complaints: "" };

  beforeAll(async () => {
    played = await play(examples);
  }, 60_000);

  it("tell a session from its start to its end", () => {
    const story = "Start Create Stream Prompt Vote Reconnect Load Branch Export Close".split(" ");
    const titles = examples.map(({ title }) => title);
    expect(titles.filter((title) => story.includes(title))).toEqual(story);
  });

  it("run one after the other in one shell, with nothing but curl and a new server", () => {
    const { exitCode, complaints, printed } = played;
    expect({ exitCode, complaints, ran: printed.length }).toMatchObject({
      exitCode: 0,
      ran: examples.length,
    });
  });

  it("print what the document shows, each id in the place of the same one", () => {
    const shown = examples.map((example) => example.shown);
    const printed = examples.map(({ shown }, at) => (shown === null ? null : told(played, at)));
    expect(shown.filter((text) => text !== null).length).toBeGreaterThanOrEqual(10);
    expect(masked(printed)).toEqual(masked(shown));
  });
});

describe("the routes of docs/protocol.md", () => {
  it("are those of the server, each with one row", async () => {
    const known = (await tableOf()).routes.map(({ method, path }) => `${method} ${path}`);
    const rows = [...PAGE.matchAll(/^\| `((?:GET|POST|PATCH|PUT|DELETE) \/[^`]*)` \|/gm)];
    expect(rows.map(([, name = ""]) => name).toSorted()).toEqual(known.toSorted());
  });

  it("stand in the tables that `npm run reference` writes from their descriptions", async () => {
    const document = openApiDocument((await tableOf()).routes, "1.0.0");
    expect(withTables(PAGE, routeTables(document))).toBe(PAGE);
  });

  it("are not mentioned elsewhere under another name", async () => {
    const table = await tableOf();
    const known = new Set(table.routes.map(({ method, path }) => `${method} ${path}`));
    const mentioned = [...PAGE.matchAll(/`((?:GET|POST|PATCH|PUT|DELETE) \/[^`]*)`/g)];
    expect(mentioned.map(([, name = ""]) => name).filter((name) => !known.has(name))).toEqual([]);
  });

  it("want the client id that their rows say, and are strict where these say so", async () => {
    const rows = new Map(
      [...PAGE.matchAll(/^\| `([A-Z]+ \/[^`]*)` \| ([^|]*) \|/gm)].map(([, name, id]) => [
        name,
        id,
      ]),
    );
    const wrong = (await tableOf()).routes.filter(({ method, path, clientId, gate }) => {
      // Votes look at their body first, and so read the id themselves.
      const word = path.includes("permission/") ? "known" : ID_WORDS[clientId ?? "ignored"];
      return rows.get(`${method} ${path}`) !== (gate === "strict" ? `${word}, *strict*` : word);
    });
    expect(wrong.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });

  it("name codes that there are, with the status that they have", () => {
    const named = [...PAGE.matchAll(/`(\d{3}) ([a-z_]+)`/g)].map(([, status, code]) => {
      return `${status} ${code}`;
    });
    const known = new Set(Object.entries(ERRORS).map(([code, { status }]) => `${status} ${code}`));
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});

describe("the events of docs/protocol.md", () => {
  it("are those of the log, each with one row that says how it folds", () => {
    const rows = [...sectionOf("Events").matchAll(/^\| `(\w+)` \| [^|]* \| (\w+) \|/gm)];
    const documented = rows.map(([, type = "", fold = ""]) => `${type} ${fold}`);
    const known = EVENT_TYPES.map((type) => `${type} ${FOLD_WORDS[foldOf(type)]}`);
    expect(documented.toSorted()).toEqual(known.toSorted());
  });

  it("have the fields that their types have", () => {
    const rows = [...sectionOf("Events").matchAll(/^\| `(\w+)` \| `([^`]*)` \|/gm)];
    const documented = rows.map(([, type = "", data = ""]) => {
      const outer = data.replaceAll(/:?[[{].*?[}\]]+/g, "");
      return `${type}: ${outer.split(/, ?/).toSorted().join(", ")}`;
    });
    expect(documented.toSorted()).toEqual(declaredFields().toSorted());
  });

  it("and the frames without a number are those that streams and loads are told", () => {
    const rows = [...sectionOf("Frames without a number").matchAll(/^\| `(\w+)` \|/gm)];
    const documented = rows.map(([, type = ""]) => type);
    const told = [...textsUnder("src")].flatMap(([path, text]) => {
      const isTest = /\.(?:test|fixture)\.ts$/.test(path);
      return isTest ? [] : [...text.matchAll(/\bnotice\("(\w+)"/g)].map(([, type = ""]) => type);
    });
    expect(documented.toSorted()).toEqual([...new Set([...told, "history_truncated"])].toSorted());
  });
});

describe("the slash commands of docs/protocol.md", () => {
  const [, after = ""] = PAGE.split("\n### Slash commands\n");
  const [section = ""] = after.split("\n### ");

  it("are ours, each with one row", () => {
    const rows = [...section.matchAll(/^\| `(\/[^`]*)` \|/gm)];
    const usages = Object.values(BUILT_INS).map(({ usage }) => usage);
    expect(rows.map(([, usage = ""]) => usage)).toEqual(usages);
  });

  it("are answered with codes that there are, and with all of them", () => {
    const words = [...section.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, word = ""]) => word);
    const events = new Set(["command_result", "agent_message_chunk"]);
    const documented = new Set(words.filter((word) => !events.has(word)));
    const said = [...textsUnder("src/core/slash").values()].flatMap((text) => {
      const calls = text.matchAll(/\b(?:done|failed|reloaded)\(\s*"(\w+)"/g);
      return [...calls].map(([, code = ""]) => code);
    });
    expect([...documented].toSorted()).toEqual([...new Set(said)].toSorted());
  });
});

describe("the audit of docs/protocol.md", () => {
  it("has every act that there is beside events, and no others", () => {
    const [, after = ""] = PAGE.split("\n| `act` | When |\n");
    const [table = ""] = after.split("\n\n");
    const rows = [...table.matchAll(/^\| (`[^|]*`) \|/gm)];
    const documented = rows.flatMap(([, acts = ""]) => acts.replaceAll("`", "").split(", "));
    const told = [...textsUnder("src")].flatMap(([path, text]) => {
      if (/\.(?:test|fixture)\.ts$/.test(path)) return [];
      const ofSessions = path.includes("session/audit/") ? text.matchAll(/\bact: "(\w+)"/g) : [];
      const ofAgents = text.matchAll(/(?:audit|[rR]ecorded|recordAct)\((?:[\w.#]+, )?"([\w.]+)"/g);
      return [...ofSessions, ...ofAgents].map(([, act = ""]) => act);
    });
    const known = new Set([...CHANGE_ACTS, ...told]);
    expect(documented.toSorted()).toEqual([...known].toSorted());
    expect([...CHANGE_ACTS, ...OTHER_ACTS].toSorted()).toEqual([...known].toSorted());
  });
});

describe("the rest of docs/protocol.md", () => {
  it("has every option of the server, and no others", () => {
    const rows = [...sectionOf("Configuration").matchAll(/^\| `([a-z-]+)` \|/gm)];
    expect(rows.map(([, name = ""]) => name).toSorted()).toEqual(OPTION_NAMES.toSorted());
  });

  it("has the variables that other servers read, and ours too", () => {
    const foreign = OPTION_NAMES.flatMap((name) => OPTIONS[name].variables);
    const section = sectionOf("Configuration");
    expect(foreign.filter((variable) => !section.includes(`\`${variable}\``))).toEqual([]);
  });

  it("has every feature tag that a server with all options has, and no others", async () => {
    const rows = [...sectionOf("Feature tags").matchAll(/^\| (`[^|]*`) \|/gm)];
    const documented = rows.flatMap(([, tags = ""]) => tags.replaceAll("`", "").split(", "));
    expect(documented.toSorted()).toEqual(featuresOf(await tableOf(), FULL).toSorted());
  });

  it("leads nowhere that is not there", () => {
    const links = [...PAGE.matchAll(/\]\(([\w.]*)#?([\w-]*)\)/g)];
    const broken = links.filter(([, file = "", anchor = ""]) => {
      const anchors = anchorsOf(file === "" ? PAGE : readText(`docs/${file}`));
      return anchor !== "" && !anchors.includes(anchor);
    });
    expect(links.length).toBeGreaterThan(10);
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

const ID_WORDS = { registered: "known", shape: "shape", ignored: "–" } as const;

const FOLD_WORDS: Readonly<Record<Fold, string>> = {
  keep: "keep",
  latest: "latest",
  drop: "drop",
  boundary: "end",
};

/** A server with everything on that can be on. */
const FULL = granted(
  readServerSettings({
    workspaces: ["/a/workspace"],
    token: "a-token",
    requireAuth: true,
    enableShell: true,
    allowOrigins: ["*"],
    rateLimit: {},
    promptDeadlineMs: 1_000,
    writerIdleTimeoutMs: 1_000,
  }),
);

async function tableOf() {
  const { daemon } = await DaemonWorld.open({ routes: () => [] });
  return allRoutes(daemon, "1.0.0", async () => IDLE);
}

function told({ printed }: Played, at: number): string {
  return printed[at] ?? "(it did not come to this)";
}

/** What stands under a heading of the second level. */
function sectionOf(heading: string): string {
  const [, after = ""] = PAGE.split(`\n## ${heading}\n`);
  return after.split("\n## ")[0] ?? "";
}

/** Of each heading, as Markdown's readers make them. */
function anchorsOf(page: string): readonly string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => {
    return heading
      .toLowerCase()
      .replaceAll(/[^\w -]/g, "")
      .replaceAll(" ", "-");
  });
}

const EVENT_FILES = ["event", "ask-event", "child-event", "credit-event", "workflow"].map(
  (name) => `src/core/session/${name}.ts`,
);

/** `type: field, optional?` for every event, in the order of the alphabet, from its own type. */
function declaredFields(): readonly string[] {
  const nodes = EVENT_FILES.flatMap((path) => {
    return [...nodesIn(programOf(path, readText(path)))].map(({ node }) => node);
  });
  const interfaces = nodes.filter((node) => node.type === "TSInterfaceDeclaration");
  const named = new Map(interfaces.map((one) => [one.id.name, one]));
  const fieldsIn = (type: Node): readonly string[] => {
    if (type.type === "TSIntersectionType") return type.types.flatMap(fieldsIn);
    if (type.type === "TSTypeLiteral") return type.members.flatMap(fieldOf);
    const name = type.type === "TSTypeReference" ? type.typeName : type;
    const found = name.type === "Identifier" ? named.get(name.name) : undefined;
    if (found === undefined) throw new Error("an event has a type that is not read here");
    const inherited = found.extends.flatMap(({ expression }) => fieldsIn(expression));
    return [...inherited, ...found.body.body.flatMap(fieldOf)];
  };
  const parts = ["AskEvents", "ChildEvents", "CreditEvents", "WorkflowEvents"];
  const families = ["EventData", ...parts, "Announcements"];
  const events = families.flatMap((name) => {
    return named.get(name)?.body.body ?? [];
  });
  return events.flatMap((member) => {
    if (member.type !== "TSPropertySignature" || !member.typeAnnotation) return [];
    const fields = fieldsIn(member.typeAnnotation.typeAnnotation).toSorted().join(", ");
    return [`${keyOf(member)}: ${fields}`];
  });
}

function fieldOf(member: Node): readonly string[] {
  if (member.type !== "TSPropertySignature") return [];
  return [member.optional ? `${keyOf(member)}?` : keyOf(member)];
}

function keyOf({ key }: Extract<Node, { type: "TSPropertySignature" }>): string {
  return key.type === "Identifier" ? key.name : "(computed)";
}
