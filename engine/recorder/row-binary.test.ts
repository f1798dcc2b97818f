import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowWriter } from "./row-binary.js";

/** The naive encoder: bigint, two's complement, byte by byte. */
function bytesOf(value: bigint, byteCount: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(byteCount * 8, value);
  for (let index = 0; index < byteCount; index++) {
    bytes.push(Number(rest & 255n));
    rest >>= 8n;
  }
  return bytes;
}

/** Toward zero, as the writer cuts digits that the column cannot hold. */
function scaledBig(digits: bigint, shift: number): bigint {
  return shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
}

function written(write: (writer: RowWriter) => void): number[] | "bad" {
  const writer = new RowWriter(Buffer.alloc(8));
  writer.reserve(64);
  write(writer);
  return writer.bad ? "bad" : [...writer.written()];
}

const safeInteger = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(
    0,
    1,
    -1,
    2 ** 31,
    2 ** 32,
    -(2 ** 32),
    2 ** 32 - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER,
  ),
);
const MAX_128 = 10n ** 38n;
const MAX_64 = 10n ** 18n;

describe("integers", () => {
  it("are little-endian two's complement over the whole safe range", () => {
    fc.assert(
      fc.property(safeInteger, (value) => {
        expect(written((writer) => writer.i64(value))).toEqual(bytesOf(BigInt(value), 8));
      }),
    );
  });

  it("UInt64 takes a number, or digits up to 2^64 - 1", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        expect(written((writer) => writer.u64Text(String(value)))).toEqual(bytesOf(value, 8));
      }),
    );
    expect(written((writer) => writer.u64Text("18446744073709551615"))).toEqual(bytesOf(2n ** 64n - 1n, 8));
    expect(written((writer) => writer.u64(Number.MAX_SAFE_INTEGER))).toEqual(bytesOf(2n ** 53n - 1n, 8));
  });

  it.each(["18446744073709551616", "-1", "", "1.0", "12a", "1e3", "99999999999999999999"])(
    "refuses %j as a UInt64",
    (text) => {
      expect(written((writer) => writer.u64Text(text))).toBe("bad");
    },
  );

  it.each([-1, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY, 0.5])("refuses the number %d as a UInt64", (value) => {
    expect(written((writer) => writer.u64(value))).toBe("bad");
  });
});

describe("decimals from integers", () => {
  it("Decimal(18, 10) equals the bigint product, or is refused where it has more than 18 digits", () => {
    fc.assert(
      fc.property(safeInteger, fc.integer({ min: -12, max: 22 }), (value, decimals) => {
        const expected = scaledBig(BigInt(value), 10 - decimals);
        const fits = expected < MAX_64 && expected > -MAX_64;
        expect(written((writer) => writer.decimal64(value, decimals, 10))).toEqual(fits ? bytesOf(expected, 8) : "bad");
      }),
      { numRuns: 1000 },
    );
  });

  it("Decimal(38, 8) equals the bigint product, or is refused where it has more than 38 digits", () => {
    fc.assert(
      fc.property(safeInteger, fc.integer({ min: -22, max: 22 }), fc.constantFrom(8, 18), (value, decimals, scale) => {
        const expected = scaledBig(BigInt(value), scale - decimals);
        const fits = expected < MAX_128 && expected > -MAX_128;
        expect(written((writer) => writer.decimal128(value, decimals, scale))).toEqual(
          fits ? bytesOf(expected, 16) : "bad",
        );
      }),
      { numRuns: 1000 },
    );
  });

  it("refuses what is no safe integer", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, 1.5]) {
      expect(written((writer) => writer.decimal64(value, 0, 0))).toBe("bad");
      expect(written((writer) => writer.decimal128(value, 3, 0))).toBe("bad");
    }
  });
});

describe("decimals from text", () => {
  const text = fc
    .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.integer({ min: 0, max: 24 }))
    .map(([negative, digits, places]) => {
      const padded = String(digits).padStart(places + 1, "0");
      const point = padded.length - places;
      const body = places === 0 ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`;
      return { text: (negative ? "-" : "") + body, digits: negative ? -digits : digits, places };
    });

  it("Decimal(38, 18) equals the bigint figure, finer digits cut off", () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 0, max: 4 }), (given, shift) => {
        const expected = scaledBig(given.digits, 18 - shift - given.places);
        const fits = expected < MAX_128 && expected > -MAX_128;
        expect(written((writer) => writer.decimal128Text(given.text, 18, shift))).toEqual(
          fits ? bytesOf(expected, 16) : "bad",
        );
      }),
      { numRuns: 1000 },
    );
  });

  it("Decimal(18, 10) takes text with a multiplier, also one beyond the scale", () => {
    expect(written((writer) => writer.decimal64Text("0.01234567", 10, 3))).toEqual(bytesOf(123456n, 8));
    expect(written((writer) => writer.decimal64Text("123456", 2, 5))).toEqual(bytesOf(123n, 8));
    expect(written((writer) => writer.decimal64Text("99999999.9999999999", 10))).toEqual(bytesOf(MAX_64 - 1n, 8));
    expect(written((writer) => writer.decimal64Text("100000000", 10))).toBe("bad");
  });

  it.each(["", "-", ".", ".5", "5.", "1..2", "1e5", "+1", " 1", "1,0", "NaN", "--1", "1-"])("refuses %j", (given) => {
    expect(written((writer) => writer.decimal128Text(given, 18))).toBe("bad");
    expect(written((writer) => writer.decimal64Text(given, 10))).toBe("bad");
  });
});

describe("strings", () => {
  it("come after their length in bytes, whatever their characters, and the buffer grows for them", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.string({ unit: "binary" })), { maxLength: 8 }), (texts) => {
        const writer = new RowWriter(Buffer.alloc(1));
        for (const value of texts) writer.text(value);
        const bytes = writer.written();
        let at = 0;
        for (const value of texts) {
          let length = 0;
          let shift = 0;
          for (let more = true; more; shift += 7) {
            const byte = bytes[at++] as number;
            length += (byte & 127) * 2 ** shift;
            more = byte > 127;
          }
          expect(bytes.toString("utf8", at, at + length)).toBe(Buffer.from(value, "utf8").toString("utf8"));
          at += length;
        }
        expect(at).toBe(bytes.length);
      }),
    );
  });

  it("longer than one byte of length", () => {
    const long = "x".repeat(70_000);
    const bytes = written((writer) => writer.text(long)) as number[];
    expect(bytes.slice(0, 3)).toEqual([0xf0, 0xa2, 0x04]);
    expect(bytes).toHaveLength(70_003);
  });
});
