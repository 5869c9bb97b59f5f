declare const kind: unique symbol;

/** A string that has been checked once, at the rim, and says what it names ever after. */
type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type SessionId = Id<"session">;
export type PromptId = Id<"prompt">;
export type TurnId = Id<"turn">;
export type AskId = Id<"ask">;
export type ClientId = Id<"client">;
export type UserId = Id<"user">;
export type TenantId = Id<"tenant">;
export type ShellId = Id<"shell">;
export type ChildId = Id<"child">;

/** The wire's rule for client ids: safe in headers and logs. */
const PLAIN = /^[A-Za-z0-9._:-]{1,128}$/;

/** Ids of our own are safe in paths too, so the two names that every folder has are left out. */
const PATH_SAFE = /^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/;

export const parseSessionId = parser<SessionId>(PATH_SAFE);
export const parsePromptId = parser<PromptId>(PATH_SAFE);
export const parseTurnId = parser<TurnId>(PATH_SAFE);
export const parseAskId = parser<AskId>(PATH_SAFE);
export const parseClientId = parser<ClientId>(PLAIN);
export const parseUserId = parser<UserId>(PATH_SAFE);
export const parseTenantId = parser<TenantId>(PATH_SAFE);
export const parseShellId = parser<ShellId>(PATH_SAFE);
export const parseChildId = parser<ChildId>(PATH_SAFE);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

function parser<Kind extends string>(rule: RegExp) {
  const isKind = (text: string): text is Kind => rule.test(text);
  return (text: string): Kind | null => (isKind(text) ? text : null);
}
