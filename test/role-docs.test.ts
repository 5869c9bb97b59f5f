// The table of roles in docs/protocol.md is what people hand out roles by: it is the code's own.

import { describe, expect, it } from "vitest";
import { isPermitted, PERMISSIONS, ROLES } from "../src/core/permission.ts";
import { readText } from "./house/files.ts";

describe("the roles of docs/protocol.md", () => {
  const [, after = ""] = readText("docs/protocol.md").split("\n### Roles\n");
  const [section = ""] = after.split("\n### ");

  it("may what they may, and nothing else", () => {
    const rows = [...section.matchAll(/^\| `([a-z:]+)` \|(.*)\|$/gm)];
    const documented = rows.map(([, permission = "", cells = ""]) => {
      return `${permission}: ${cells
        .split("|")
        .map((cell) => cell.trim())
        .join(" ")}`;
    });
    const known = PERMISSIONS.map((permission) => {
      const cells = ROLES.map((role) => (isPermitted(role, permission) ? "yes" : "–"));
      return `${permission}: ${cells.join(" ")}`;
    });
    expect(documented).toEqual(known);
  });

  it("stand in the order of what they may", () => {
    expect(section).toContain(`| What | ${ROLES.join(" | ")} |`);
  });
});
