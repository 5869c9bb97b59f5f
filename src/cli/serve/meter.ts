import { readFile, stat } from "node:fs/promises";
import { CREDIT_SWEEP_MS, PRICE_FILE_BYTES_MAX } from "../../core/limits.ts";
import { fail, ok, type Result } from "../../core/result.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import { settledSession } from "../../session/life/recovery.ts";
import { LedgerMeter, type Meter, PriceTable, readPrices } from "../../session/meter/index.ts";
import type { SessionRuntime } from "../../session/runtime.ts";
import { SYSTEM_CLOCK } from "../../session/system.ts";
import type { CallOff } from "../../session/world.ts";
import type { SessionStore } from "../../store/index.ts";
import type { ServerLog } from "./log.ts";
import type { Chosen } from "./options.ts";

/** The usual prices, and those of the file that was chosen before them. */
export async function choosePrices({ prices }: Chosen): Promise<Result<PriceTable>> {
  if (prices === null) return ok(new PriceTable());
  try {
    const { size } = await stat(prices);
    const reason = `the file has more than ${PRICE_FILE_BYTES_MAX} bytes`;
    if (size > PRICE_FILE_BYTES_MAX) {
      return fail("invalid_server_config", { path: "--prices", reason });
    }
    return readPrices(await readFile(prices, "utf8"));
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return fail("invalid_server_config", { path: "--prices", reason });
  }
}

/** The tenant of a server without tokens pays nobody, and so has no limit. */
export function openMeter(
  store: SessionStore,
  prices: PriceTable,
  chosen: Chosen,
  { log }: ServerLog,
): Meter {
  const others = chosen["tenant-credits"];
  return new LedgerMeter({
    store,
    prices,
    usualLimit: (tenantId) => (tenantId === LOCAL_TENANT ? "unlimited" : others),
    nowMs: () => SYSTEM_CLOCK.nowMs(),
    log,
  });
}

/** Looks for reservations without a turn again and again; one look at a time. */
export function sweepRegularly(meter: Meter, runtime: SessionRuntime): CallOff {
  let isOver = false;
  let callOff: CallOff = () => {};
  const later = () => {
    callOff = SYSTEM_CLOCK.after(CREDIT_SWEEP_MS, () => {
      const swept = meter.sweep(async (key) => {
        const found = await runtime.find(key);
        return found.ok ? settledSession(found.value, () => runtime.peek(key)) : found;
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
