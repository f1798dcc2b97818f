import { expect, it } from "vitest";
import { Arena, withArena } from "./arena.js";

it("every buffer of an arena is zero once it is wiped, and none is given out then", () => {
  const arena = new Arena();
  const buffers = [arena.take(32), arena.take(1), arena.moved(Buffer.alloc(9, 3))];
  for (const buffer of buffers) buffer.fill(7);
  arena.wipe();
  for (const buffer of buffers) expect(buffer.every((byte) => byte === 0)).toBe(true);
  expect(arena.isWiped).toBe(true);
  expect(() => arena.take(1)).toThrow("wiped");
  expect(() => arena.moved(Buffer.alloc(1))).toThrow("wiped");
  arena.wipe();
});

it("what is moved into an arena is no longer where it was", () => {
  const source = Buffer.alloc(64, 5);
  const moved = new Arena().moved(source);
  expect(moved).toEqual(Buffer.alloc(64, 5));
  expect(source).toEqual(Buffer.alloc(64));
});

it("an arena of a stretch is wiped when the stretch ends, by an error too", () => {
  const seen: Buffer[] = [];
  const body = (arena: Arena) => {
    const buffer = arena.take(8);
    buffer.fill(1);
    seen.push(buffer);
    if (seen.length === 2) throw new Error("end");
  };
  withArena(body);
  expect(() => withArena(body)).toThrow("end");
  expect(seen).toEqual([Buffer.alloc(8), Buffer.alloc(8)]);
});
