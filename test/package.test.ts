// What a release carries beside its code.

import { describe, expect, it } from "vitest";
import { JSON_BODY_BYTES_MAX, RAW_BODY_BYTES_MAX, SHUTDOWN_DRAIN_MS } from "../src/core/limits.ts";
import { readText } from "./house/files.ts";

const manifest = JSON.parse(readText("package.json"));

describe("CHANGELOG.md", () => {
  it("has a section for this version, with its date", () => {
    const headings = [...readText("CHANGELOG.md").matchAll(/^## (\S+)(?: - (\S+))?$/gm)];
    const [unreleased, ...released] = headings.map(([, version, date]) => ({ version, date }));
    expect(unreleased).toEqual({ version: "Unreleased", date: undefined });
    expect(released[0]).toEqual({
      version: manifest.version,
      date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    });
  });
});

describe("deploy/", () => {
  it("has a systemd unit that can be enabled, and waits longer than turns are waited for", () => {
    const unit = readText("deploy/fermata.service");
    expect(unit).toMatch(/^\[Install\]\nWantedBy=/m);
    const [, stopSeconds] = /^TimeoutStopSec=(\d+)$/m.exec(unit) ?? [];
    expect(Number(stopSeconds)).toBe(SHUTDOWN_DRAIN_MS / 1_000 + 5);
  });

  it("has an nginx site that takes as large a body as the server", () => {
    const [, megabytes] = /client_max_body_size (\d+)m;/.exec(readText("deploy/nginx.conf")) ?? [];
    const bytesMax = Math.max(JSON_BODY_BYTES_MAX, RAW_BODY_BYTES_MAX);
    expect(Number(megabytes)).toBe(bytesMax / 1_024 ** 2);
  });

  it("has a Dockerfile on a Node that may run it, and not as root", () => {
    const steps = readText("deploy/Dockerfile");
    expect(steps.match(/^FROM .*/gm)).toEqual([
      "FROM node:24-slim AS package",
      "FROM node:24-slim",
    ]);
    expect(steps).toMatch(/^USER node$/m);
  });
});

describe("the memory of young objects", () => {
  it("is limited alike by all that starts a server", () => {
    const starters = ["scripts/start.js", "deploy/fermata.service", "deploy/Dockerfile"];
    const flags = starters.map((file) => readText(file).match(/--max-semi-space-size=\d+/g));
    expect(flags).toEqual(starters.map(() => ["--max-semi-space-size=16"]));
    expect(readText("docs/operations.md")).toContain("--max-semi-space-size=16");
  });
});

describe("the published package", () => {
  it("has the documents that its README links to", () => {
    const links = [...readText("README.md").matchAll(/\]\((?!https?:|src\/)([^)#]+)/g)];
    const carried = [...manifest.files, "LICENSE", "README.md"];
    const missing = links.filter(([, path = ""]) => !carried.includes(path.split("/")[0]));
    expect(missing.map(([, path]) => path)).toEqual([]);
  });
});
