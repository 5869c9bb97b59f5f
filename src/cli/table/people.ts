import { AGENT_START_OPTIONS } from "./agents.ts";
import { type CommandRow, DATA_OPTIONS, JSON_OPTION, TENANT_OPTIONS, text, toggle } from "./row.ts";

// Commands about tenants, their members and what they may spend.

const TIME = {
  from: text("TIME", "Only from this time on, as in 2026-05-01 or 2026-05-01T12:00Z."),
  to: text("TIME", "Only before this time."),
};

export const TOKENS = {
  name: "tokens",
  group: "People and credits",
  line: "Make, list, rotate and revoke the tokens of users.",
  usage: ["create --user NAME --role ROLE [OPTIONS]", "list | revoke ID | rotate ID [OPTIONS]"],
  about: `Makes, lists, revokes and rotates the tokens of users, beside a running server or
before the first one. A new token is printed once; the server keeps only its hash.

Once there is a token, a server that starts requires one from every caller, on this
machine too. A server that already runs without tokens requires none until it restarts.
`,
  options: {
    ...TENANT_OPTIONS,
    user: text("NAME", "The user of a new token, who becomes a member if they are none."),
    role: text("ROLE", "owner, admin, member or viewer; at most the role of the member.", {
      completes: ["owner", "admin", "member", "viewer"],
    }),
    name: text("TEXT", "A name for the list."),
    expires: text("TIME", "When it expires, as in 12h or 90d (never)."),
    grace: text("TIME", "How long the old secret of a rotated token stays valid (0s)."),
  },
  examples: [
    { line: "fermata tokens create --user ada --role owner", means: "the first token" },
    { line: "fermata tokens rotate ID --grace 1h", means: "a new secret; the old one for an hour" },
  ],
  completes: [["create", "list", "revoke", "rotate"]],
} as const satisfies CommandRow;

export const MEMBERS = {
  name: "members",
  group: "People and credits",
  line: "List, invite, add, change and remove the members of a tenant.",
  usage: [
    "list",
    "set USER ROLE",
    "remove USER",
    "invite USER ROLE [--expires TIME]",
    "invitations",
    "uninvite ID",
  ],
  about: `Lists and changes the members of a tenant. A role is owner, admin, member or viewer.
The command works beside a running server, and a change counts from the next request
on. The audit records it. A removed member loses all tokens. The last owner stays.

"invite" prints a code for a new member, once; the server keeps only its hash. The
member redeems it with "fermata join CODE --url URL" and gets a token of their own.
`,
  options: {
    ...TENANT_OPTIONS,
    expires: text("TIME", "How long an invitation works, as in 12h or 7d (7d; at most 30d)."),
  },
  examples: [{ line: "fermata members invite ben member", means: "a code for a new member" }],
  completes: [["list", "set", "remove", "invite", "invitations", "uninvite"]],
} as const satisfies CommandRow;

export const JOIN = {
  name: "join",
  group: "People and credits",
  line: "Redeem an invitation, and save your token.",
  usage: ["CODE [--url URL] [--save FILE]"],
  about: `Redeems an invitation: you become a member of its tenant, and your token is saved in a
file that only you can read. A code works once. Give - to read it from the input.
`,
  options: {
    url: text("URL", "Address of the server (http://127.0.0.1:4170, or FERMATA_URL)."),
    save: text(
      "FILE",
      "File for the token (~/.fermata/tokens/HOST_PORT; for ~/.fermata, see FERMATA_HOME). " +
        "It must not exist.",
      { completes: "file" },
    ),
    insecure: toggle("Allow plain http to another machine: others on the way can read the token."),
  },
} as const satisfies CommandRow;

export const TENANTS = {
  name: "tenants",
  group: "People and credits",
  line: "List the tenants of a data directory, or delete one.",
  usage: ["list", "delete NAME --yes"],
  about: `Lists the tenants of a data directory, or deletes one for good: its sessions, journals
and audit, credits, members, tokens and workspaces. Without --yes it only says what it
would delete.

It deletes nothing while a server uses the directory. Stop the server first, or let an
owner of the tenant send DELETE /tenant.
`,
  options: {
    ...DATA_OPTIONS,
    yes: toggle("Delete the tenant.", { default: false }),
  },
  completes: [["list", "delete"]],
} as const satisfies CommandRow;

export const POLICY = {
  name: "policy",
  group: "People and credits",
  line: "Show and set what the users of a tenant may have at most.",
  usage: ["show", "set ROLE.FIELD=VALUE ... [visibility=VALUE]", "reset"],
  about: `Shows and sets what the users of a tenant may have at most, by role: owner, admin, member.
Without a policy it binds members only: mode allowlist, autonomy balanced. The command works
beside a running server. A change binds open sessions at once, and the audit records it.

Fields of a role:
  mode          The highest security mode: ask, allowlist or yolo.
  autonomy      The highest autonomy: manual, supervised, balanced or autonomous.
  agents        The agents, separated by commas; "any" or "none".
  models        The models, likewise. With a list, a session has to name its model.
  skills        The skills that may be called by name, likewise.
  selfApproval  Whether users may approve what their own prompts ask for: yes or no.
  children      What agents may delegate: "any", "none", or lower limits as in
                atOnce:2,perTurn:8,seconds:600,tokens:500000,resultBytes:8192.

  visibility    Who sees a new session by default: tenant or private.
`,
  options: { ...TENANT_OPTIONS },
  examples: [
    { line: "fermata policy set member.mode=ask member.agents=claude,qwen", means: "for members" },
  ],
  completes: [["show", "set", "reset"]],
} as const satisfies CommandRow;

export const CREDITS = {
  name: "credits",
  group: "People and credits",
  line: "Show, grant and limit what a tenant may spend.",
  usage: [
    "balance",
    "grant AMOUNT [--id ID] [--note TEXT]",
    "revoke ID [--note TEXT]",
    "limit granted|unlimited",
    "budget tenant|user:NAME AMOUNT|none [--month]",
    "statement [--from TIME] [--to TIME]",
    "usage [--by user|session|agent|model|day|month] [--from TIME] [--to TIME]",
  ],
  about: `Shows and changes what a tenant may spend, has spent and has reserved. An AMOUNT is
whole micro-credits, as in 5000000, or credits, as in 5cr or 0.25cr; a credit is a
million micro-credits. Tables are in credits. --json and the statement, which is CSV,
have micro-credits. The command works beside a running server. A change counts from the
next turn on. For waiting turns, and for a tenant that had neither a limit nor a budget,
it counts within a minute.

"revoke" takes all of a grant back, also if it is spent: the balance may go below zero,
and no turn begins until further grants have made up for it.

If the limit is "not set", that of the server counts (serve --tenant-credits). To set
the budget of a session, use POST /credits/budgets/session:ID.
`,
  options: {
    ...TENANT_OPTIONS,
    id: text(
      "ID",
      "Id of the grant, 1 to 128 letters, digits and . _ : -. The same grant with the same id " +
        "counts once.",
    ),
    note: text("TEXT", "Note of the grant, or of its revocation."),
    month: toggle("The budget is for each calendar month (UTC), not in total."),
    json: toggle("Print JSON, in micro-credits."),
    by: text("WORD", "Grouping of the usage (day).", {
      completes: ["user", "session", "agent", "model", "day", "month"],
    }),
    ...TIME,
  },
  examples: [{ line: "fermata credits grant 5cr --note June", means: "five credits" }],
  completes: [["balance", "grant", "revoke", "limit", "budget", "statement", "usage"]],
} as const satisfies CommandRow;

export const PRICES = {
  name: "prices",
  group: "People and credits",
  line: "Show the prices of models, and which of them your agents meet.",
  usage: ["[--prices FILE] [--json]", "check [AGENT...] [OPTIONS]"],
  about: `Without "check", prints the prices of models, and from when and where they are.

  check [AGENT...]
                 Start each installed agent (or those named), make a session, and print
                 which price each of its models meets. Exits with 1 if a model has none:
                 under a limit or a budget its turns are refused (402 price_unknown).

All options but the first two are those of "check", as those of "fermata agents NAME" and of
a server's config.json.
`,
  options: {
    prices: text(
      "FILE",
      'Your prices, as for "fermata serve" (FERMATA_PRICES, or prices in config.json). It ' +
        'overrides the defaults, or replaces them with "defaults": false in the file; see ' +
        "docs/protocol.md.",
      { completes: "file" },
    ),
    ...JSON_OPTION,
    ...AGENT_START_OPTIONS,
  },
  exitCodes: { 1: "a model has no price" },
  completes: [["check"], "agent"],
} as const satisfies CommandRow;

export const AUDIT = {
  name: "audit",
  group: "People and credits",
  line: "Print what was done in a tenant, by whom, and what was refused.",
  usage: ["[OPTIONS]"],
  about: `Prints the audit of a tenant: what was done, by whom, and what was refused. Each entry
is one line, the oldest first. The command works beside a running server.
`,
  options: {
    ...TENANT_OPTIONS,
    session: text("ID", "Only entries of this session, also if it is deleted.", {
      completes: "session",
    }),
    user: text("NAME", "Only entries of this user."),
    client: text("ID", "Only entries of this client."),
    act: text("NAMES", "Only these acts, as in token_created,token_revoked."),
    accepted: text("WORD", "true prints what was done, false what was refused.", {
      completes: ["true", "false"],
    }),
    ...TIME,
    format: text("WORD", "ndjson, a JSON object on each line, or csv (ndjson).", {
      default: "ndjson",
      completes: ["ndjson", "csv"],
    }),
  },
  examples: [
    { line: "fermata audit --accepted false --from 2026-05-01", means: "what was refused" },
  ],
} as const satisfies CommandRow;
