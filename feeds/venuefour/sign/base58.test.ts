import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase58, encodeBase58 } from "./base58.js";

describe("base58", () => {
  it("writes the published examples", () => {
    // draft-msporny-base58, section 5.
    expect(encodeBase58(Buffer.from("Hello World!"))).toBe("2NEpo7TZRRrLZSi2U");
    expect(encodeBase58(Buffer.from("0000287fb4cd", "hex"))).toBe("11233QC4");
    expect(encodeBase58(new Uint8Array(32))).toBe("1".repeat(32));
    expect(encodeBase58(new Uint8Array())).toBe("");
  });

  it("reads what it writes, leading zeros included", () => {
    const bytes = fc
      .tuple(fc.nat(5), fc.uint8Array({ minLength: 1, maxLength: 80 }))
      .map(([zeros, tail]) => Uint8Array.from([...new Array<number>(zeros).fill(0), ...tail]));
    fc.assert(
      fc.property(bytes, (value) => {
        expect(decodeBase58(encodeBase58(value))).toEqual(value);
      }),
    );
  });

  it("agrees with arithmetic on big integers", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 64 }), (value) => {
        const decoded = decodeBase58(encodeBase58(value)) ?? new Uint8Array();
        let number = 0n;
        for (const letter of encodeBase58(value))
          number = number * 58n + BigInt("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".indexOf(letter));
        expect(BigInt(`0x0${Buffer.from(decoded).toString("hex")}`)).toBe(number);
      }),
    );
  });

  it.each(["", "0", "O", "I", "l", " 1", "1 ", "é", "1".repeat(129)])("refuses the text %j", (text) => {
    expect(decodeBase58(text)).toBeNull();
  });
});
