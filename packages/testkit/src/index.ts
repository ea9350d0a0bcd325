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
} from './assert-close.js';
export { type SameOptions, same } from './same.js';
export { compareEqualOutsAndGrads } from './compare-gradients.js';
export { type RandStridedOptions, randStrided } from './rand-strided.js';
export {
  type ConformanceOptions,
  type ConformanceReport,
  runBackendConformance,
  testBackendConformance,
} from './backend-conformance/run-backend-conformance.js';
export type { ConformanceCase } from './backend-conformance/conformance-case.js';
export type { JudgedBackend } from './backend-conformance/run-case.js';
export { BACKEND_CONFORMANCE_CASES } from './backend-conformance/suite.js';
export {
  COMMUNICATOR_CONFORMANCE_CASES,
  type CommunicatorReport,
  runCommunicatorConformance,
} from './communicator-conformance/run-communicator-conformance.js';
export type { CommunicatorCase } from './communicator-conformance/conformance-case.js';
export { CompileCounter, CompileCounterWithBackend } from './compile-counter.js';
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
export { oracleArguments, oracleTensor } from './oracle/oracle-arguments.js';
export { gradcheckCase } from './oracle/gradcheck-case.js';
export {
  type GradcheckOpOptions,
  type OpGradients,
  type OpInput,
  gradcheckOp,
} from './oracle/gradcheck-op.js';
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

// Whole models that PyTorch's results are recorded of
export { recordedModels } from './models/index.js';
export type { RecordedExtras, RecordedModel } from './models/recorded-model.js';
export {
  type ModelFile,
  type ModelRecord,
  packModels,
  parseModels,
  unpackModels,
} from './models/model-file.js';
export {
  MODEL_MODES,
  MODEL_TOLERANCE,
  type ModelCheck,
  type ModelMode,
  runRecordedModel,
} from './models/run-model.js';
