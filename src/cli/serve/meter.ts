import { CREDIT_SWEEP_MS } from "../../core/limits.ts";
import { type CallOff, SYSTEM_CLOCK } from "../../platform/clock.ts";
import { LOCAL_TENANT } from "../../server/http/authenticator.ts";
import type { SessionHost } from "../../session/host.ts";
import { settledSession } from "../../session/life/recovery.ts";
import { LedgerMeter, type Meter, type PriceTable } from "../../session/meter/index.ts";
import type { SessionStore } from "../../store/index.ts";
import type { ServerLog } from "./log.ts";
import type { ServeOptions } from "./options.ts";

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
