/** ARCHITECTURE.md lists the files of every room by role: one name means one thing in all of them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ROUTABLE_VENUES } from "../engine/domain/venue.js";

const FEEDS = fileURLToPath(new URL("./", import.meta.url));
const ARCHITECTURE = readFileSync(fileURLToPath(new URL("../ARCHITECTURE.md", import.meta.url)), "utf8");
/** In the order in which they may import each other, the lowest last. */
const FOLDERS = [".", "money", "orders", "account", "market", "sign", "rules"];

/** A venue that gives wallets no keys has no money folder. */
function filesOf(venue: string, folder: string): readonly string[] {
  if (!existsSync(join(FEEDS, venue, folder))) return [];
  return readdirSync(join(FEEDS, venue, folder), { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ts$/.test(entry.name) && !/\.test\.ts$/.test(entry.name))
    .map((entry) => entry.name.replace(/\.ts$/, ""));
}

function table(): readonly string[] {
  const rows: string[] = [];
  for (const folder of FOLDERS) {
    const names = new Set(ROUTABLE_VENUES.flatMap((venue) => filesOf(venue, folder)));
    for (const name of [...names].sort()) {
      const cells = ROUTABLE_VENUES.map((venue) => (filesOf(venue, folder).includes(name) ? "x" : ""));
      rows.push(`| ${folder === "." ? name : `${folder}/${name}`} | ${cells.join(" | ")} |`);
    }
  }
  return rows;
}

describe("the table of rooms in ARCHITECTURE.md", () => {
  it("has a row for each file name, with the venues that have it, and no other", () => {
    const shown = ARCHITECTURE.split("\n").filter((line) =>
      /^\| (?:[a-z]+\/)?[a-z0-9-]+ \|(?: x? \|| +\|){4}$/.test(line),
    );
    expect(shown.map((line) => line.replace(/\|\s+(?=\|)/g, "|  "))).toEqual(table());
  });

  it("lists every folder of a room but those of its tests and recordings", () => {
    for (const venue of ROUTABLE_VENUES) {
      const folders = readdirSync(join(FEEDS, venue), { withFileTypes: true }).filter((entry) => entry.isDirectory());
      const names = folders.map(({ name }) => name).filter((name) => name !== "test" && name !== "fixtures");
      expect([...new Set([...names, "money"])].sort()).toEqual([...FOLDERS.slice(1)].sort());
    }
  });
});
