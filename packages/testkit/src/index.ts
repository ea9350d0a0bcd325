/**
 * @file Public API of `@tessera/testkit`.
 */
export {
  type CloseOptions,
  DEFAULT_TOLERANCES,
  type Tolerance,
  assertClose,
  assertCloseAsync,
  compareValues,
  same,
} from './assert-close.js';
export { CompileCounter } from './compile-counter.js';
export { FileCheck } from './file-check.js';
export { type GradcheckOptions, gradcheck, gradgradcheck } from './gradcheck.js';
export { type BackendEvent, RecordingBackend } from './recording-backend.js';
export {
  type CompiledCode,
  type RunAndCode,
  expectKernelCount,
  kernelCount,
  runAndGetCode,
} from './run-and-get-code.js';
export { type CaseDeviation, KNOWN_DEVIATIONS } from './oracle/deviations.js';
export {
  type OracleCase,
  type OracleFile,
  type OracleTensor,
  type OracleValue,
  packOracle,
  parseOracle,
  qualifiedName,
  unpackOracle,
} from './oracle/oracle-file.js';
export {
  ORACLE_MODES,
  type OracleMode,
  appliesTo,
  runOracleCase,
} from './oracle/run-oracle-case.js';
