/** What stands in the paths of routes: where it stands, what it is, and one of them. */
interface PathParameter {
  readonly says: string;
  readonly example: string;
}

/** The ids of all examples. The test that sends them puts real ones in their place. */
export const EXAMPLE_IDS = {
  session: "5e550000-0000-4000-8000-000000000001",
  prompt: "9a0b0000-0000-4000-8000-000000000001",
  message: "3e550000-0000-4000-8000-000000000001",
  ask: "a5c00000-0000-4000-8000-000000000001",
  child: "c41d0000-0000-4000-8000-000000000001",
  task: "5be11000-0000-4000-8000-000000000001",
  workspace: "/home/me/project",
  token: "t0ce0000-0000-4000-8000-000000000001",
  invitation: "1f170000-0000-4000-8000-000000000001",
  code: "fermata-code",
  grant: "grant-1",
  grantKey: "execute:ls",
  agentSession: "echo-session-1",
} as const;

const SESSION = { says: "The id of a session", example: EXAMPLE_IDS.session };
const WORKSPACE = {
  says: "A workspace: its path, percent-encoded, or its id as GET /workspaces has it",
  example: EXAMPLE_IDS.workspace,
};
const PROMPT = { says: "The promptId of a prompt", example: EXAMPLE_IDS.prompt };

/** By the word of the path before it, and its name. */
const PATH_PARAMETERS: Readonly<Record<string, PathParameter>> = {
  "session/:id": SESSION,
  "workspace/:id": WORKSPACE,
  "workspaces/:workspace": WORKSPACE,
  "agents/:name": { says: "The name of an agent", example: "echo" },
  "members/:user": { says: "The id of a user", example: "ada" },
  "invitations/:id": { says: "The id of an invitation", example: EXAMPLE_IDS.invitation },
  "tokens/:id": { says: "The id of a token", example: EXAMPLE_IDS.token },
  "credits/grants/:id": { says: "The id of a grant of credits", example: EXAMPLE_IDS.grant },
  "budgets/:scope": { says: "tenant, user:NAME or session:ID", example: "user:ada" },
  "permission/:requestId": { says: "The requestId of an ask", example: EXAMPLE_IDS.ask },
  "pending-prompts/:promptId": PROMPT,
  "turns/:promptId": PROMPT,
  "mid-turn-messages/:messageId": {
    says: "The messageId of a message into a turn",
    example: EXAMPLE_IDS.message,
  },
  "children/:childId": { says: "The id of a child session", example: EXAMPLE_IDS.child },
  "tasks/:taskId": { says: "The id of a task", example: EXAMPLE_IDS.task },
  ":id/grants/:key": {
    says: "The key of a grant as approvals has it, percent-encoded",
    example: EXAMPLE_IDS.grantKey,
  },
};

/** The parameters of a path in its order. A path with one that is not known throws. */
export function pathParametersOf(path: string): readonly (PathParameter & { name: string })[] {
  const segments = path.split("/");
  return segments.flatMap((segment, at) => {
    if (!segment.startsWith(":")) return [];
    const place = segments.slice(0, at + 1).join("/");
    const known = Object.entries(PATH_PARAMETERS).find(([end]) => place.endsWith(end));
    if (known === undefined) throw new Error(`no parameter is known for ${place}`);
    return [{ ...known[1], name: segment.slice(1) }];
  });
}
