declare const kind: unique symbol;

/** A string that has been checked once, at the rim, and says what it names ever after. */
type Id<Kind extends string> = string & { readonly [kind]: Kind };

export type SessionId = Id<"session">;
export type PromptId = Id<"prompt">;
export type TurnId = Id<"turn">;
export type AskId = Id<"ask">;
export type ClientId = Id<"client">;
export type UserId = Id<"user">;

export const parseSessionId = parser<SessionId>();
export const parsePromptId = parser<PromptId>();
export const parseTurnId = parser<TurnId>();
export const parseAskId = parser<AskId>();
export const parseClientId = parser<ClientId>();
export const parseUserId = parser<UserId>();

/** The wire's rule for client ids, which every id of ours obeys too: safe in paths and logs. */
const ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

function parser<Kind extends string>() {
  return (text: string): Kind | null => (isId<Kind>(text) ? text : null);
}

function isId<Kind extends string>(text: string): text is Kind {
  return ID_PATTERN.test(text);
}
