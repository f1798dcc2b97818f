import { describe, expect, it } from "vitest";
import { HiddenCounter, hexOf } from "./hidden-counter.js";
import { createSeededRandom } from "./random.js";

function counter(seed = 1): HiddenCounter {
  const random = createSeededRandom(seed);
  return new HiddenCounter((target) => {
    for (let index = 0; index < target.byteLength; index++) target[index] = Math.floor(random.next() * 256);
  });
}

describe("a hidden counter", () => {
  it("shows no number twice, in eight hexadecimal digits", () => {
    const hidden = counter();
    const texts = Array.from({ length: 100_000 }, () => hidden.next());
    expect(new Set(texts).size).toBe(100_000);
    expect(texts.every((text) => /^[0-9a-f]{8}$/.test(text))).toBe(true);
  });

  it("tells by two numbers in a row neither their distance nor which came first", () => {
    const hidden = counter();
    let risen = 0;
    const distances = new Set<number>();
    for (let count = 0; count < 10_000; count++) {
      const step = hidden.shown(count + 1) - hidden.shown(count);
      if (step > 0) risen++;
      distances.add(step);
    }
    expect(distances.size).toBeGreaterThan(9_900);
    expect(Math.abs(risen - 5_000)).toBeLessThan(300);
  });

  it("shows in another process other numbers", () => {
    const [one, other] = [counter(1), counter(2)];
    const same = Array.from({ length: 1_000 }, (_, count) => one.shown(count) === other.shown(count));
    expect(same.filter(Boolean).length).toBeLessThan(3);
  });

  it("writes each number in digits of its own, also above 32 bits", () => {
    const [shown, texts] = [counter(), counter()];
    for (let count = 0; count < 1_000; count++) expect(Number.parseInt(texts.next(), 16)).toBe(shown.shown(count));
    for (const number of [0, 255, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7])
      expect(hexOf(number)).toBe(number.toString(16).padStart(8, "0"));
  });

  it("goes on above 32 bits, where it shows the rest as it is", () => {
    const hidden = counter();
    const beyond = 2 ** 32;
    expect(Math.floor(hidden.shown(beyond + 5) / beyond)).toBe(1);
    expect(hidden.shown(beyond + 5) - beyond).toBe(hidden.shown(5));
  });
});
