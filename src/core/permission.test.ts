import { describe, expect, it } from "vitest";
import {
  isAtLeast,
  isPermitted,
  lesserRole,
  PERMISSIONS,
  parseRole,
  ROLES,
  rolesWith,
} from "./permission.ts";

/** Written by hand from docs/decisions.md; nothing here is taken from the code. */
const MATRIX = `
                    owner admin member viewer
  session:create    yes   yes   yes    no
  session:read      yes   yes   yes    yes
  session:write     yes   yes   yes    no
  session:delete    yes   yes   no     no
  session:steer     yes   yes   yes    no
  session:vote      yes   yes   yes    no
  members:read      yes   yes   no     no
  members:write     yes   yes   no     no
  members:delete    yes   no    no     no
  tokens:read       yes   yes   no     no
  tokens:write      yes   no    no     no
  credits:read      yes   yes   no     no
  credits:write     yes   no    no     no
  audit:read        yes   yes   no     no
  workspaces:write  yes   yes   no     no
  agents:write      yes   no    no     no
  tenant:write      yes   no    no     no
`;

const [head = [], ...rows] = MATRIX.trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/));

const CELLS = rows.flatMap(([permission = "", ...cells]) =>
  cells.map((cell, at): [string, string, string] => [head[at] ?? "", cell, permission]),
);

describe("the permission matrix", () => {
  it("has a row for every permission and a column for every role", () => {
    expect(rows.map(([permission]) => permission)).toEqual([...PERMISSIONS]);
    expect(head).toEqual([...ROLES]);
    expect(CELLS).toHaveLength(PERMISSIONS.length * ROLES.length);
  });

  it.each(CELLS)("%s: %s, %s", (roleName, cell, permissionName) => {
    const role = ROLES.find((one) => one === roleName) ?? expect.fail();
    const permission = PERMISSIONS.find((one) => one === permissionName) ?? expect.fail();
    expect(isPermitted(role, permission)).toBe(cell === "yes");
  });

  it("gives no role what a more powerful one lacks", () => {
    for (const permission of PERMISSIONS) {
      const may = ROLES.map((role) => isPermitted(role, permission));
      expect(may.toSorted((a, b) => Number(b) - Number(a))).toEqual(may);
    }
  });
});

describe("roles", () => {
  it("are named to whoever has none of those that are wanted", () => {
    expect(rolesWith("tokens:write")).toBe("owners");
    expect(rolesWith("members:write")).toBe("owners and admins");
    expect(rolesWith("session:write")).toBe("owners, admins and members");
    expect(rolesWith("session:read")).toBe("owners, admins, members and viewers");
  });

  it("are compared by what they may", () => {
    expect(lesserRole("owner", "viewer")).toBe("viewer");
    expect(lesserRole("viewer", "owner")).toBe("viewer");
    expect(lesserRole("admin", "admin")).toBe("admin");
    expect(isAtLeast("admin", "member")).toBe(true);
    expect(isAtLeast("admin", "admin")).toBe(true);
    expect(isAtLeast("admin", "owner")).toBe(false);
  });

  it.each(["Owner", "", "root", null, 7, ["owner"], "__proto__"])("are not %j", (text) => {
    expect(parseRole(text)).toBeNull();
  });
});
