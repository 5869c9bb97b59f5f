import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { onTestFinished, vi } from "vitest";
import type { JsonObject } from "../../core/json.ts";
import { granted } from "../http/server.fixture.ts";
import { type JwtTrust, openJwtAuthenticator } from "./jwt.ts";

export const TRUST = {
  issuer: "https://issuer.example",
  audience: "fermata",
  tenantClaim: "tenant_id",
  roleClaim: "role",
} as const;

export const NOW_MS = 1_800_000_000_000;
const NOW_S = NOW_MS / 1_000;

/** What a good token says. */
export const CLAIMS = {
  iss: TRUST.issuer,
  aud: TRUST.audience,
  sub: "ada",
  tenant_id: "acme",
  role: "member",
  iat: NOW_S,
  exp: NOW_S + 600,
};

/** An issuer with its own key. */
export class Issuer {
  readonly #privateKey: CryptoKey;
  readonly alg: string;
  readonly jwk: JWK;

  private constructor(alg: string, privateKey: CryptoKey, jwk: JWK) {
    this.alg = alg;
    this.#privateKey = privateKey;
    this.jwk = jwk;
  }

  static async make(alg = "ES256", kid = "k1"): Promise<Issuer> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    return new Issuer(alg, privateKey, { ...(await exportJWK(publicKey)), kid, alg });
  }

  sign(claims: JsonObject = CLAIMS, header: JsonObject = {}): Promise<string> {
    const kid = this.jwk.kid ?? "";
    const head = { alg: this.alg, kid, ...header };
    return new SignJWT({ ...claims }).setProtectedHeader(head).sign(this.#privateKey);
  }
}

export function fileOf(...keys: readonly JWK[]): string {
  const folder = mkdtempSync(join(tmpdir(), "fermata-jwks-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "jwks.json");
  writeFileSync(path, JSON.stringify({ keys }));
  return path;
}

/** A server of keys on this machine, which counts how often it is asked. */
export class KeyServer {
  answer: { status: number; body: string };
  asked = 0;
  url = "";

  constructor(answer: { status: number; body: string }) {
    this.answer = answer;
  }

  static async open(...keys: readonly JWK[]): Promise<KeyServer> {
    const world = new KeyServer({ status: 200, body: JSON.stringify({ keys }) });
    const server = createServer((_request, response) => {
      world.asked += 1;
      response.writeHead(world.answer.status).end(world.answer.body);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    world.url = `http://127.0.0.1:${port}/jwks`;
    return world;
  }
}

/** A JWT authenticator at a time that a test sets: `jose` takes it from `Date`. */
export async function wayBy(keySet: string, trust: Partial<JwtTrust> = {}) {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW_MS });
  onTestFinished(() => void vi.useRealTimers());
  const world = {
    get nowMs() {
      return Date.now();
    },
    set nowMs(nowMs: number) {
      vi.setSystemTime(nowMs);
    },
  };
  const clock = { nowMs: () => Date.now() };
  const way = granted(await openJwtAuthenticator({ ...TRUST, keySet, ...trust }, clock));
  const who = async (token: string) => {
    const found = await way.authenticate(token);
    return found.ok ? found.value : found.refusal.code;
  };
  return { world, way, who };
}
