import { expect, it } from "vitest";
import { type LogFields, silentLogger } from "../../../engine/domain/logger.js";
import { UnknownWords } from "./unknown-words.js";

it("a room counts every unknown word, logs each new one once, and no more than 32 of them", () => {
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (event: string, fields?: LogFields) => lines.push({ event, ...fields }) };
  const words = new UnknownWords("venueone", () => logger as never);
  for (let index = 0; index < 100; index++) words.note("status", "a".repeat(1 + (index % 39)));
  expect([words.count, lines.length]).toEqual([100, 32]);
  expect(lines[0]).toEqual({ event: "venueone.account.unknown-word", field: "status", word: "a" });
});

it("a room prints no digits of an unknown word: what comes in its place may be a key", () => {
  const lines: unknown[] = [];
  const logger = { ...silentLogger, warn: (_event: string, fields?: LogFields) => lines.push(fields) };
  const words = new UnknownWords("venueone", () => logger as never);
  words.note("status", `0x${"4f".repeat(60)}`);
  expect(lines).toEqual([{ field: "status", word: `?x${"?f".repeat(19)}` }]);
});
