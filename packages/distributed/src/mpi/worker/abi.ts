/**
 * @file The binary interfaces of MPI libraries: what the handles of communicators, types and operations are.
 *
 * MPICH and its descendants use integers, Open MPI addresses of variables in its library, and MPI 5 defines a
 * standard with small constants as pointers. `checkLibrary` tries what a table says
 * on small values before it is trusted.
 *
 * @see https://www.mpi-forum.org/docs/ (MPI 5.0, chapter "Application Binary Interface")
 */

/** An integer or an address: what a handle is to the caller. */
export type Handle = number | bigint;

/** Types of elements that libraries know. */
export type NativeType =
  'int8' | 'uint8' | 'int16' | 'uint16' | 'int32' | 'int64' | 'float32' | 'float64';

/** Reductions that libraries know. */
export type NativeOp = 'sum' | 'product' | 'min' | 'max' | 'band' | 'bor' | 'bxor';

/** See the file header. */
export interface Abi {
  readonly name: string;
  /** How handles are passed to functions. */
  readonly handle: 'int' | 'intptr_t';
  readonly world: Handle;
  readonly self: Handle;
  readonly errorsReturn: Handle;
  readonly types: Readonly<Record<NativeType, Handle>>;
  readonly ops: Readonly<Record<NativeOp, Handle>>;
  readonly inPlace: number;
  readonly anySource: number;
  /** 32-bit word of a status that holds the source of the message. */
  readonly sourceWord: number;
}

const MPICH: Abi = {
  name: 'MPICH',
  handle: 'int',
  world: 0x44000000,
  self: 0x44000001,
  errorsReturn: 0x54000001,
  types: {
    int8: 0x4c000137,
    uint8: 0x4c00013b,
    int16: 0x4c000238,
    uint16: 0x4c00023c,
    int32: 0x4c000439,
    int64: 0x4c00083a,
    float32: 0x4c00040a,
    float64: 0x4c00080b,
  },
  ops: {
    max: 0x58000001,
    min: 0x58000002,
    sum: 0x58000003,
    product: 0x58000004,
    band: 0x58000006,
    bor: 0x58000008,
    bxor: 0x5800000a,
  },
  inPlace: -1,
  anySource: -2,
  sourceWord: 2,
};

const STANDARD: Abi = {
  name: 'MPI 5',
  handle: 'intptr_t',
  world: 0x101,
  self: 0x102,
  errorsReturn: 0x142,
  types: {
    int8: 0x240,
    uint8: 0x241,
    int16: 0x248,
    uint16: 0x249,
    int32: 0x250,
    int64: 0x258,
    float32: 0x210,
    float64: 0x214,
  },
  ops: { sum: 0x21, min: 0x22, max: 0x23, product: 0x24, band: 0x28, bor: 0x29, bxor: 0x2a },
  inPlace: 1,
  anySource: -1,
  sourceWord: 0,
};

function openMpi(address: (symbol: string) => Handle): Abi {
  const type = (name: string): Handle => address(`ompi_mpi_${name}`);
  const op = (name: string): Handle => address(`ompi_mpi_op_${name}`);
  return {
    name: 'Open MPI',
    handle: 'intptr_t',
    world: address('ompi_mpi_comm_world'),
    self: address('ompi_mpi_comm_self'),
    errorsReturn: address('ompi_mpi_errors_return'),
    types: {
      int8: type('int8_t'),
      uint8: type('uint8_t'),
      int16: type('int16_t'),
      uint16: type('uint16_t'),
      int32: type('int32_t'),
      int64: type('int64_t'),
      float32: type('float'),
      float64: type('double'),
    },
    ops: {
      sum: op('sum'),
      product: op('prod'),
      min: op('min'),
      max: op('max'),
      band: op('band'),
      bor: op('bor'),
      bxor: op('bxor'),
    },
    inPlace: 1,
    anySource: -1,
    sourceWord: 0,
  };
}

/**
 * The interface of a library, which its name tells of a standard one: MPICH has the functions of the standard in
 * its own interface, too. `address` gives that of a variable in it, or null.
 */
export function abiOf(file: string, address: (symbol: string) => Handle | null): Abi {
  if (/mpi_abi/.test(file)) return STANDARD;
  if (address('ompi_mpi_comm_world') === null) return MPICH;
  return openMpi((symbol) => address(symbol) ?? missing(symbol));
}

function missing(symbol: string): never {
  throw new Error(`the library has no ${symbol}`);
}
