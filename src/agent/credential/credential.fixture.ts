import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { parseTenantId, parseUserId } from "../../core/id.ts";
import { type CredentialHolder, SecretFiles } from "./secret-files.ts";

/** A folder of secrets, for one test. */
export class SecretFolder {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), "fermata-secrets-")));
  readonly files = new SecretFiles(this.root);

  constructor(files: Readonly<Record<string, string>> = {}) {
    chmodSync(this.root, 0o755);
    for (const [path, value] of Object.entries(files)) this.put(path, value);
    onTestFinished(() => rmSync(this.root, { recursive: true, force: true }));
  }

  at(path: string): string {
    return join(this.root, path);
  }

  put(path: string, value: string | Buffer, mode = 0o600) {
    mkdirSync(dirname(this.at(path)), { recursive: true });
    writeFileSync(this.at(path), value);
    chmodSync(this.at(path), mode);
  }
}

export function holder(tenant: string, user: string | null): CredentialHolder {
  const tenantId = parseTenantId(tenant) ?? expect.fail();
  return { tenantId, userId: user === null ? null : (parseUserId(user) ?? expect.fail()) };
}
