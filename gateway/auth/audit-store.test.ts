import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { createMemoryStore, type MemoryStore } from "../../engine/storage/test/memory-store.js";
import { AuditStore } from "./audit-store.js";
import type { AuditRow } from "./audit.js";
import { seededFill } from "./test/auth-harness.js";

let clock: VirtualClock;
let store: MemoryStore;
let audit: AuditStore;

const open = (seed = 1): Promise<AuditStore> => AuditStore.open(store, clock, seededFill(seed));
const row = (subject: string, details: AuditRow["details"] = {}): Omit<AuditRow, "atMs"> => ({
  ...{ who: "admin", what: "key.create", subject, outcome: "done", details },
});

beforeEach(async () => {
  clock = new VirtualClock();
  store = createMemoryStore();
  audit = await open();
});

async function subjects(log: AuditStore, limit: number): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<AuditStore["page"]>> = await log.page(limit, cursor);
    expect(page.rows.length).toBeLessThanOrEqual(limit);
    found.push(...page.rows.map(({ subject }) => subject));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return found;
}

describe("the audit log", () => {
  it("shows its rows newest first, on pages of any size, each once", async () => {
    for (let index = 0; index < 25; index++) {
      await audit.append(row(`s${index}`));
      if (index % 3 === 0) clock.advance(7);
    }
    const expected = Array.from({ length: 25 }, (_, index) => `s${24 - index}`);
    for (const limit of [1, 7, 24, 25, 26, 500]) expect(await subjects(audit, limit)).toEqual(expected);
  });

  it("keeps the order of the acts where the clock is set back, also after a restart, with the times as they were", async () => {
    await audit.append(row("first"));
    clock.stepWall(-3_600_000);
    await audit.append(row("second"));
    const again = await open(2);
    await again.append(row("third"));
    expect(await subjects(again, 10)).toEqual(["third", "second", "first"]);
    const [third] = (await again.page(1, null)).rows;
    expect(third?.atMs).toBe(clock.wallMs());
  });

  it("never takes the place of a row, where two processes count alike", async () => {
    const other = await open(2);
    await audit.append(row("one"));
    await other.append(row("two"));
    expect((await subjects(audit, 10)).sort()).toEqual(["one", "two"]);
    const keys = audit
      .auditWrites(row("x"))
      .concat(audit.auditWrites(row("x")))
      .map(({ key }) => key);
    expect(new Set(keys).size).toBe(2);
  });

  it("gives the writes of a row to be committed with the act itself", async () => {
    await store.commit({
      writes: [{ namespace: "api-key", key: "k", value: Buffer.from("1") }, ...audit.auditWrites(row("s"))],
    });
    expect(await subjects(audit, 10)).toEqual(["s"]);
  });

  it("bounds a row, and leaves out what looks like a key", async () => {
    const secret = `sk_${"a".repeat(43)}`;
    await audit.append(
      row(`x${"y ".repeat(10_000)}`, { secret, hex: "ab".repeat(32), many: new Array(500).fill("é".repeat(300)) }),
    );
    await audit.append(
      row(secret, Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, index]))),
    );
    for (const text of store.writtenText) {
      expect(text.length).toBeLessThanOrEqual(4_200);
      expect(text).not.toContain(secret.slice(0, 20));
      expect(text).not.toContain("ab".repeat(32));
    }
  });

  it.each([0, -1, 501, 1.5, Number.NaN])("refuses a page of %s rows", async (limit) => {
    await expect(audit.page(limit, null)).rejects.toMatchObject({ code: "INVALID_PARAMETERS" });
  });

  it.each(["", "x", "1", "../..", `${"0".repeat(15)}-${"0".repeat(6)}-${"g".repeat(16)}`, "\0"])(
    "refuses the cursor %j",
    async (cursor) => {
      await expect(audit.page(10, cursor)).rejects.toMatchObject({ code: "INVALID_PARAMETERS" });
    },
  );

  it("shows a row that cannot be read as one", async () => {
    await audit.append(row("s"));
    const [{ key } = { key: "" }] = await store.scan("audit", { prefix: "", limit: 1 });
    await store.put("audit", key, Buffer.from("{"));
    expect((await audit.page(1, null)).rows[0]).toMatchObject({ id: key, what: "audit.unreadable" });
  });
});
