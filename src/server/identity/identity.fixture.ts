import { onTestFinished } from "vitest";
import { parseTenantId, parseUserId, type UserId } from "../../core/id.ts";
import type { Role } from "../../core/permission.ts";
import { value } from "../../store/kit/expect.ts";
import { memoryStore } from "../../store/memory/store.ts";
import { HOST } from "../../store/sample.fixture.ts";
import type { SessionStore } from "../../store/store.ts";
import { Members } from "./members.ts";
import { TokenAuthenticator } from "./token-authenticator.ts";
import { type IssuedToken, Tokens } from "./tokens.ts";

export const OPERATOR = { kind: "operator" } as const;

/** A caller who may grant every role. */
export const BY_OWNER = { steward: OPERATOR, role: "owner" } as const;

export const DAY_MS = 86_400_000;

export function tenant(name: string) {
  return parseTenantId(name) ?? never(name);
}

export function user(name: string): UserId {
  return parseUserId(name) ?? never(name);
}

export const ACME = tenant("acme");

/** Members and tokens over one store, at a time that a test sets. */
export class IdentityWorld {
  readonly store: SessionStore;
  readonly members: Members;
  readonly tokens: Tokens;
  readonly way: TokenAuthenticator;
  nowMs = 1_800_000_000_000;

  constructor(store: SessionStore) {
    const clock = { nowMs: () => this.nowMs };
    this.store = store;
    this.members = new Members(store, clock);
    this.tokens = new Tokens(store, this.members, clock);
    this.way = new TokenAuthenticator(store, this.members, clock);
  }

  static async open(): Promise<IdentityWorld> {
    const store = memoryStore();
    onTestFinished(async () => void (await store.dispose()));
    await value(store.init(HOST, { active: true }));
    await value(store.activate());
    return new IdentityWorld(store);
  }

  member(name: string, role: Role, tenantId = ACME) {
    return value(this.members.put(tenantId, user(name), role, BY_OWNER));
  }

  /** A token of a member, who is taken in with the role if need be. */
  async token(
    name: string,
    role: Role,
    { lifeMs = null, tenantId = ACME }: { lifeMs?: number | null; tenantId?: typeof ACME } = {},
  ): Promise<IssuedToken> {
    const userId = user(name);
    const known = await value(this.members.find(tenantId, userId));
    if (known === null) await this.member(name, role, tenantId);
    const wish = { userId, role, name: `${name}'s`, lifeMs };
    return value(this.tokens.create(tenantId, wish, OPERATOR));
  }

  /** Who comes in by this text: a caller, or null. */
  async who(text: string) {
    const found = await this.way.authenticate(text);
    return found.ok ? found.value : found.refusal.code;
  }

  /** What the tenant's audit was told, in order. */
  async audit(tenantId = ACME) {
    const query = { journal: "audit", after: 0, limit: 100 } as const;
    const { rows } = await value(this.store.readJournal(tenantId, query));
    return rows.map(({ text }) => JSON.parse(text));
  }
}

function never(name: string): never {
  throw new Error(`${name} is no id`);
}
