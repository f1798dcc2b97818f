import { expect, it } from "vitest";
import { silentLogger } from "../../engine/domain/logger.js";
import { DEFAULT_READ_LIMITS, RecordsReader } from "./records-reader.js";
import { ScriptedStore } from "./test/scripted-store.js";

it("reads of one key leave half of the bound to the others, however slowly it takes its exports", async () => {
  const reader = new RecordsReader(new ScriptedStore(), { ...DEFAULT_READ_LIMITS, inFlightMax: 4 }, silentLogger);
  const never = () => new Promise<string>(() => {});
  for (let read = 0; read < 5; read++) expect(await reader.admit("pk_greedy", async () => read)).toBe(read);
  void reader.admit("pk_greedy", never);
  void reader.admit("pk_greedy", never);
  await expect(reader.admit("pk_greedy", async () => "read")).rejects.toMatchObject({ code: "OVERLOADED" });
  expect(await reader.admit("pk_other", async () => "read")).toBe("read");
  expect(await reader.admit(null, async () => "read")).toBe("read");
});
