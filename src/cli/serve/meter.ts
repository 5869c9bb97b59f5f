import { readFile, stat } from "node:fs/promises";
import { type AgentProfile, modelAliases } from "../../agent/profile/profile.ts";
import { CREDIT_SWEEP_MS, PRICE_FILE_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { type CallOff, SYSTEM_CLOCK } from "../../platform/clock.ts";
import { fileFault } from "../../platform/file-fault.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import type { SessionHost } from "../../session/host.ts";
import { settledSession } from "../../session/life/recovery.ts";
import { LedgerMeter, type Meter, PriceTable, readPrices } from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/index.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

/** The default prices, overridden by those of `--prices`. */
export async function readPriceFile(
  prices: string | null,
  profiles: ReadonlyMap<string, AgentProfile>,
): Promise<Result<PriceTable>> {
  const aliases = (agent: string) => {
    const profile = profiles.get(agent);
    return profile === undefined ? new Map<string, string>() : modelAliases(profile, process.env);
  };
  if (prices === null) return ok(new PriceTable({}, aliases));
  try {
    const { size } = await stat(prices);
    const reason = `the file has more than ${PRICE_FILE_BYTES_MAX} bytes`;
    if (size > PRICE_FILE_BYTES_MAX) {
      return fail("invalid_server_config", { path: "--prices", reason });
    }
    return readPrices(await readFile(prices, "utf8"), aliases);
  } catch (thrown) {
    const reason = `${prices}: ${fileFault(thrown)}`;
    return fail("invalid_server_config", { path: "--prices", reason });
  }
}

/** The tenant `local`, which a server without tokens serves, has no limit. */
export function openMeter(
  store: SessionStore,
  prices: PriceTable,
  options: ServeOptions,
  { log }: ServerLog,
): Meter {
  const others = options["tenant-credits"];
  return new LedgerMeter({
    store,
    prices,
    usualLimit: (tenantId) => (tenantId === LOCAL_TENANT ? "unlimited" : others),
    nowMs: () => SYSTEM_CLOCK.nowMs(),
    log,
  });
}

/** Releases reservations without a turn at an interval, one sweep at a time. */
export function startCreditSweep(meter: Meter, host: SessionHost): CallOff {
  let isOver = false;
  let callOff: CallOff = () => {};
  const later = () => {
    callOff = SYSTEM_CLOCK.after(CREDIT_SWEEP_MS, () => {
      const swept = meter.sweep(async (key) => {
        const found = await host.find(key);
        return found.ok ? settledSession(found.value, () => host.peek(key)) : found;
      });
      void swept.finally(() => {
        if (!isOver) later();
      });
    });
  };
  later();
  return () => {
    isOver = true;
    callOff();
  };
}
