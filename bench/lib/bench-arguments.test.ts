import { describe, expect, it } from "vitest";
import { readBenchArguments } from "./bench-arguments.js";

const KNOWN = ["http", "sign"];
const read = (...args: string[]) => readBenchArguments(args, KNOWN);

describe("the arguments of the bench", () => {
  it("write the results of a whole run, and of a part where they ask for it", () => {
    expect(read()).toEqual({ kind: "run", scenarios: [], smoke: false, writes: true });
    expect(read("http")).toEqual({ kind: "run", scenarios: ["http"], smoke: false, writes: false });
    expect(read("http", "sign", "--write")).toEqual({
      kind: "run",
      scenarios: ["http", "sign"],
      smoke: false,
      writes: true,
    });
    expect(read("--smoke")).toEqual({ kind: "run", scenarios: [], smoke: true, writes: false });
  });

  it("list the scenarios, whatever else they hold", () => {
    expect(read("--help", "nonsense")).toMatchObject({
      kind: "help",
      text: expect.stringContaining("  http\n  sign\n"),
    });
  });

  it("refuse an unknown argument by its name, and a smoke run that is to be written", () => {
    expect(read("htpp", "--fast")).toEqual({
      kind: "refused",
      text: "Unknown: htpp, --fast. Known: --help, --smoke, --write, http, sign\n",
    });
    expect(read("--smoke", "--write").kind).toBe("refused");
  });
});
