/**
 * Whose the memory of a live session is: a class, or a field of one, in the order in which a share
 * is taken. A class that is not here counts for what holds it.
 */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  "the state, as it is decided with": ["SessionActor.#session", "SessionActor.#durable"],
  "what the next snapshot folds": ["OpenHistory"],
  "the live instance": ["LiveSession", "Attendance"],
  "the actor": ["SessionActor", "CommitPipeline", "RefusedTransitions", "TurnMemory"],
  "streams and held verdicts": ["SessionStream", "HeldVerdicts", "SessionBus", "Subscription"],
  credits: ["SessionCredit", "BudgetWatch"],
  "timers of deadlines": ["DeadlineTimers"],
  "the queue, slash commands, the audit": ["TurnQueue", "SlashCommands", "SessionAudit"],
  "the agent's side": [
    ...["AgentSide", "AgentLink", "AgentReports", "OpenAsks", "HeldText", "Briefing"],
    ...["OfferKeeper", "UsageReports", "RefusalCounts"],
  ],
  "the bridge to the agent": [
    ...["BridgeSession", "Settings", "Turns", "Inbox", "Terminals", "ShownTerminals"],
    ...["ShownOutput", "ModelCalls", "AgentRequests", "AgentTerminals", "UsageMeter"],
    ...["PlainUpdates", "KnownToolCalls"],
  ],
};

export const OWNER_NAMES = Object.keys(OWNERS);

/** By the name of the class, or of a class and its field. */
export const OWNER_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(OWNERS).flatMap(([owner, classes]) => classes.map((name) => [name, owner])),
);
