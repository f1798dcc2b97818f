import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressText, blockText, isInBlock, parseAddress, parseBlock } from "./ip-address.js";

function text(input: string): string | null {
  const address = parseAddress(input);
  return address === null ? null : addressText(address);
}

function isIn(address: string, block: string): boolean {
  const [parsed, parsedBlock] = [parseAddress(address), parseBlock(block)];
  return parsed !== null && parsedBlock !== null && isInBlock(parsed, parsedBlock);
}

describe("an address", () => {
  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:c000:201", "192.0.2.1"],
    ["0000:0000:0000:0000:0000:ffff:c000:0201", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8::1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["64:ff9b::192.0.2.1", "64:ff9b::c000:201"],
    ["1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"],
    ["fe80::1", "fe80::1"],
  ])("%s has one text, %s", (input, expected) => {
    expect(text(input)).toBe(expected);
  });

  it.each([
    ["010.0.0.1", "octal"],
    ["10.0.0.01", "a leading zero"],
    ["0x7f.0.0.1", "hex"],
    ["127.1", "too short"],
    ["2130706433", "one number"],
    ["1.2.3.4.5", "too long"],
    ["1.2.3.256", "too large"],
    ["1.2.3.", "an empty octet"],
    ["1.2.3.4 ", "a blank"],
    ["１.2.3.4", "a wide digit"],
    ["-1.2.3.4", "a sign"],
    ["", "nothing"],
    [":", "a colon"],
    [":::", "three colons"],
    ["1::2::3", "two gaps"],
    ["1:2:3:4:5:6:7", "too few groups"],
    ["1:2:3:4:5:6:7:8:9", "too many groups"],
    ["1:2:3:4:5:6:7:8::", "a gap of nothing"],
    ["12345::", "five digits"],
    ["fe80::1%eth0", "a zone"],
    ["[::1]", "brackets"],
    ["1.2.3.4:80", "a port"],
    ["::1.2.3.4:1", "IPv4 before the end"],
    ["1.2.3.4::", "IPv4 at the beginning"],
    ["::ffff:1.2.3.04", "a leading zero in the tail"],
    ["localhost", "a name"],
    [`::${"0".repeat(60)}1`, "a text too long"],
  ])("%s is none: %s", (input) => {
    expect(parseAddress(input)).toBeNull();
  });

  it("is read as the platform reads it, or refused where that is laxer", () => {
    const piece = fc.constantFrom(
      ":",
      "::",
      ".",
      "0",
      "1",
      "ff",
      "ffff",
      "00",
      "255",
      "256",
      "a",
      "g",
      "%",
      "1.2.3.4",
      " ",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const input = pieces.join("");
        if (parseAddress(input) !== null) expect(isIP(input)).not.toBe(0);
        else if (!input.includes("%")) expect(isIP(input)).toBe(0);
      }),
      { numRuns: 3_000 },
    );
  });

  it("reads back from its text", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (input) => {
        const once = text(input);
        expect(once).not.toBeNull();
        expect(text(once ?? "")).toBe(once);
      }),
    );
  });
});

describe("a block", () => {
  it.each([
    ["10.1.2.3", "10.0.0.0/8", true],
    ["11.1.2.3", "10.0.0.0/8", false],
    ["::ffff:10.1.2.3", "10.0.0.0/8", true],
    ["10.1.2.3", "::ffff:10.0.0.0/104", true],
    ["10.1.2.3", "0.0.0.0/0", true],
    ["2001:db8::1", "0.0.0.0/0", false],
    ["10.1.2.3", "::/0", false],
    ["2001:db8::1", "::/0", true],
    ["10.1.2.3", "::fffe:0:0/95", false],
    ["10.1.2.3", "::ffff:0:0/96", true],
    ["2001:db8:1::1", "2001:db8::/32", true],
    ["2001:db9::1", "2001:db8::/32", false],
    ["2001:db8::1", "2001:db8::1", true],
    ["2001:db8::2", "2001:db8::1", false],
    ["192.0.2.129", "192.0.2.128/25", true],
    ["192.0.2.127", "192.0.2.128/25", false],
    ["192.0.2.1", "192.0.2.1/32", true],
  ])("%s in %s: %s", (address, block, expected) => {
    expect(isIn(address, block)).toBe(expected);
  });

  it.each([
    "10.0.0.1/8",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "10.0.0.0/ 8",
    "::/129",
    "2001:db8::1/64",
    "/8",
    "10.0.0.0/0x8",
  ])("%s is none", (input) => {
    expect(parseBlock(input)).toBeNull();
  });

  it("reads back from its text as the same block", () => {
    for (const input of [
      "10.0.0.0/8",
      "0.0.0.0/0",
      "::/0",
      "::ffff:0:0/96",
      "::fffe:0:0/95",
      "2001:db8::/32",
      "192.0.2.1",
      "::1/128",
    ]) {
      const block = parseBlock(input);
      expect(block).not.toBeNull();
      if (block !== null) expect(parseBlock(blockText(block)), input).toEqual(block);
    }
  });
});
