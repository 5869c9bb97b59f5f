import type { Role } from "../../core/permission.ts";
import { withoutOwner, withoutVoter } from "../../session/tenant/tenant-removal.ts";
import { value } from "../../store/kit/expect.ts";
import { type Call, type DaemonOptions, DaemonWorld, type TestDaemon } from "../daemon.fixture.ts";
import type { Daemon } from "../daemon.ts";
import { type Authenticator, byToken, type RequestAuthenticator } from "../http/authenticator.ts";
import { IDLE } from "../http/server.fixture.ts";
import { allRoutes } from "../route/all-routes.ts";
import { ACME, BY_OWNER, OPERATOR, user } from "./identity.fixture.ts";
import { Members } from "./members.ts";
import { TokenAuthenticator, Voters } from "./token-authenticator.ts";
import { Tokens } from "./tokens.ts";

interface Options extends Omit<DaemonOptions, "routes" | "authenticator"> {
  /** By which people come in who have no tokens of their own. */
  readonly otherWays?: readonly Authenticator[];
}

/** A whole server, all routes, and people who have tokens of their own. */
export class People {
  readonly world: DaemonWorld;
  readonly members: Members;
  readonly tokens: Tokens;
  /** How often a caller was authenticated. */
  readonly lookups: { count: number };

  private constructor(world: DaemonWorld, lookups: { count: number }) {
    const { store, clock } = world.daemon.world;
    this.world = world;
    this.lookups = lookups;
    this.members = new Members(store, clock);
    this.tokens = new Tokens(store, this.members, clock);
  }

  static async open({ otherWays = [], ...options }: Options = {}): Promise<People> {
    const lookups = { count: 0 };
    const authenticator = (daemon: TestDaemon) =>
      counted(byToken([storedWay(daemon), ...otherWays]), lookups);
    const routes = (daemon: Daemon) => allRoutes(daemon, "0", async () => IDLE).routes;
    const outsiders = { users: otherWays.length > 0, operator: false };
    const world = await DaemonWorld.open({ outsiders, ...options, routes, authenticator });
    return new People(world, lookups);
  }

  /** A member of a tenant, who from now on calls with a token of their own. */
  async person(name: string, role: Role, tenantId = ACME): Promise<Person> {
    const userId = user(name);
    await value(this.members.put(tenantId, userId, role, BY_OWNER));
    const wish = { userId, role, name: null, lifeMs: null };
    const { text, kept } = await value(this.tokens.create(tenantId, wish, OPERATOR));
    return new Person(this.world, text, kept.id);
  }

  /** A caller of another authenticator. */
  stranger(token: string): Person {
    return new Person(this.world, token, "");
  }
}

export class Person {
  readonly #world: DaemonWorld;
  readonly token: string;
  readonly tokenId: string;

  constructor(world: DaemonWorld, token: string, tokenId: string) {
    this.#world = world;
    this.token = token;
    this.tokenId = tokenId;
  }

  get headers() {
    return { authorization: `Bearer ${this.token}` };
  }

  call(method: string, path: string, call: Omit<Call, "as"> = {}) {
    return this.#world.call(method, path, {
      ...call,
      headers: { ...this.headers, ...call.headers },
    });
  }

  /** With another token than their own. */
  with(token: string): Person {
    return new Person(this.#world, token, "");
  }
}

function storedWay({ world, host }: TestDaemon): TokenAuthenticator {
  const { store, clock, tenants } = world;
  const voters = new Voters({
    lostVote: (tenantId, userId) => withoutVoter(world, host.liveOf(tenantId), userId),
    lostOwnership: (tenantId, userId) => withoutOwner(world, host.liveOf(tenantId), userId),
  });
  return new TokenAuthenticator(store, new Members(store, clock), clock, tenants, voters);
}

function counted(
  authenticator: RequestAuthenticator,
  lookups: { count: number },
): RequestAuthenticator {
  return {
    ...authenticator,
    async authenticate(...given) {
      const found = await authenticator.authenticate(...given);
      lookups.count += 1;
      return found;
    },
  };
}
