import { describe, expect, it } from "vitest";
import { FaultLog } from "./fault.ts";

describe("an agent's faults", () => {
  it("P10: are counted all, and told of at the first, tenth, hundredth and so on", () => {
    const told: string[] = [];
    const faults = new FaultLog((kind, count) => told.push(`${kind} ${count}`));
    for (let n = 0; n < 1_234; n += 1) faults.add("malformed_line", `line ${n}`);
    faults.add("overlong_line", "");
    expect(told).toEqual([
      "malformed_line 1",
      "malformed_line 10",
      "malformed_line 100",
      "malformed_line 1000",
      "overlong_line 1",
    ]);
  });

  it("keep the first line that was no message, cut: it is usually the reason", () => {
    const faults = new FaultLog(() => {});
    expect(faults.firstMalformedLine).toBeNull();
    faults.add("malformed_line", `Usage: agent [options]${" ".repeat(10_000)}`);
    faults.add("malformed_line", "another");
    expect(faults.firstMalformedLine).toMatch(/^Usage: agent/);
    expect(faults.firstMalformedLine?.length).toBe(256);
  });

  it("P11: are shown without secrets, even one that the cut would have left half of", () => {
    const samples: string[] = [];
    const faults = new FaultLog(
      (_kind, _count, sample) => samples.push(sample),
      (text) => text.replaceAll("sk-secret-value", "[redacted]"),
    );
    const line = `${"x".repeat(245)} sk-secret-value`;
    faults.add("malformed_line", line);
    expect(samples).toEqual([`${"x".repeat(245)} [redacted]`]);
    expect(faults.firstMalformedLine).toBe(samples[0]);
  });
});
