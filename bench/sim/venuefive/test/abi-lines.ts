/** A contract's functions and events as text, a line each, every name in it: what two descriptions are compared by. */
import type { Abi } from "viem";

interface Parameter {
  readonly type: string;
  readonly name?: string | undefined;
  readonly indexed?: boolean | undefined;
  readonly components?: readonly Parameter[] | undefined;
}

export function linesOf(abi: Abi): string[] {
  return abi
    .flatMap((item) => {
      if (item.type === "event") return [`event ${item.name}(${listOf(item.inputs)})`];
      if (item.type !== "function") return [];
      const { name, inputs, outputs, stateMutability } = item;
      return [`function ${name}(${listOf(inputs)}) ${stateMutability} returns (${listOf(outputs)})`];
    })
    .sort();
}

const listOf = (parameters: readonly Parameter[]): string => parameters.map(textOf).join(", ");

function textOf({ type, name = "", indexed, components }: Parameter): string {
  const written = components === undefined ? type : `(${listOf(components)})${type.slice("tuple".length)}`;
  return [written, indexed === true ? "indexed" : "", name].filter((part) => part !== "").join(" ");
}
