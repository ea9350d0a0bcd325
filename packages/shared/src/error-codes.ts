/**
 * @file The registry of error codes: every `TesseraError` carries one of these.
 *
 * Adding a code means three things: a line here, a page `docs/errors/<code>.md`, and a test that
 * triggers it. Codes are stable names that programs may compare against, so they are never reused
 * for another meaning. Modelled on JAX's error pages and PyTorch's graph-break registry.
 */

/** Every error code with its one-line title (also the title of its page in `docs/errors/`). */
export const ERROR_CODES = {
  // Arguments
  'shape-mismatch': 'The shapes of the arguments do not fit the operation',
  'dtype-mismatch': 'The dtypes of the arguments do not fit together',
  'dtype-unsupported': 'The operation or device does not support this dtype',
  'device-mismatch': 'The arguments are on different devices',
  'invalid-argument': 'An argument has a value the function does not accept',
  'invalid-dim': 'A dimension number is outside the range of the tensor',
  'linalg-error': 'A matrix has no inverse or factorization of the kind that was asked for',
  'index-out-of-range': 'An index is outside the dimension it indexes',
  'structure-mismatch': 'A compiled function was called with arguments of another structure',
  'pytree-mismatch': 'Two nested structures differ, or leaves do not fit their structure',
  'pytree-cycle': 'A nested structure contains itself',

  // Configuration
  'unknown-backend': 'No compiler backend is registered under this name',
  'unknown-config-key': 'No configuration option has this name',
  'invalid-config-value': 'A configuration option does not accept this value',
  'unknown-log-artifact': 'No log artifact has this name',
  'duplicate-package': 'Two copies of one Tessera package are loaded in the same program',

  // ONNX
  'onnx-invalid': 'An ONNX file is damaged or not an ONNX model',
  'onnx-unsupported': 'An ONNX model needs operators or types that are not supported',

  // Debug folders
  'debug-folder-invalid': 'A debug folder, or a file in it, is not what a compilation writes',

  // Memory and devices
  'use-after-dispose': 'A tensor was used after its memory was released',
  'out-of-memory': 'The memory budget of a device is exhausted',
  'device-unavailable': 'The device does not exist on this machine or was not registered',
  'webassembly-forbidden': 'The host does not let programs make WebAssembly code',
  'device-lost': 'The GPU device was lost while work was pending',
  'gpu-validation': 'WebGPU rejected a kernel or command that Tessera made',
  'frozen-parameter': 'A parameter was used after freezing had released it',
  'data-async-only': 'The data of this device can only be read asynchronously',
  'operator-on-tensor': 'An operator of JavaScript was used on a tensor',
  'fake-data-access': 'The data of a fake tensor was read, but it has none',

  // Operators
  'schema-parse': 'An operator schema string is not valid',
  'schema-arguments': 'The arguments of a call do not match the operator schema',
  'op-duplicate': 'An operator with this name is already defined',
  'op-unknown': 'No operator has this name',
  'kernel-missing': 'The operator has no kernel for this device',

  // Autograd
  'inplace-version': 'A tensor needed for the gradient was modified in place',
  'inplace-leaf': 'A leaf tensor that requires grad was modified in place',
  'inplace-view': 'A view whose history cannot follow writes was modified in place',
  'inplace-overlap': 'An in-place operation writes to overlapping memory',
  'no-grad-graph': 'backward() was called on a tensor that has no gradient graph',
  'backward-twice': 'backward() ran a second time through a freed graph',
  'grad-non-scalar': 'A gradient was requested for a non-scalar output without a seed',
  'derivative-missing': 'An operator has no derivative formula',
  'inference-tensor': 'A tensor made in inference mode was used where gradients may be recorded',
  'checkpoint-mismatch': 'A checkpointed region did something else when it ran again for backward',
  'nan-gradient': 'A backward node returned NaN while anomaly mode is on',
  'aot-unsupported': 'A program cannot be turned into a functional graph',
  'double-backward-compiled': 'Double backward through a compiled function is not supported',

  // Function transforms
  'vmap-randomness': 'A random operator was called inside vmap without a choice of randomness',
  'vmap-inplace': 'A tensor shared by all examples was modified in place inside vmap',
  'vmap-data-access': 'The values of one example were needed inside vmap',
  'vmap-unsupported': 'A function cannot be run for all examples at once',

  // Many processes
  'distributed-unavailable': 'There is no process group, or nothing that could carry one',
  'distributed-mismatch':
    'Ranks called different collectives, or the same one with different tensors',
  'distributed-timeout': 'A collective waited longer than its timeout for other ranks',
  'distributed-pending': 'Gradients were used before they were reduced over the ranks',

  // Files
  'source-unreadable': 'A file or an address cannot be read',
  'torch-checkpoint-invalid': 'A file of torch.save is malformed, or holds more than tensors',
  'safetensors-invalid': 'A safetensors file is malformed',
  'state-dict-mismatch': 'A state dict does not fit the module',

  // Capture and compilation
  'graph-lint': 'A graph violates the rules of the graph IR',
  'trace-escape': 'An intermediate tensor left a compiled function and cannot be recomputed',
  'trace-late-watch': 'A gradient inside compiled code was asked for after the code had run',
  'export-guard': 'An exported graph was called with arguments for which it does not hold',
  'export-invalid': 'A text is no exported graph, or one that was damaged',
  'constraint-violation': 'A size that was declared to vary cannot',
  'symbolic-guard': 'A graph with symbolic sizes was run at sizes for which it does not hold',
  'trace-full-graph': 'A graph break occurred although fullgraph is set',
  'trace-recompile-limit': 'A function was traced too often although fullgraph is set',
  'pure-side-effect': 'A function compiled with `pure` has a side effect',
  'pure-hidden-state': 'A function compiled with `pure` reads state that cannot be guarded',
  'pure-stale': 'A function compiled with `pure` would no longer do what was compiled',
  'lifted-scalar': 'Arithmetic was attempted on a scalar that is only known at run time',
  'symint-arithmetic': 'JavaScript arithmetic was attempted on a symbolic size',
  'codegen-invalid': 'A code generator built an invalid WebAssembly function',
  'kernel-trap': 'A generated kernel was stopped by the engine',
  'plan-invalid': 'An execution plan is malformed or does not fit this runtime',

  // Language models
  'model-unsupported': 'A model has a family or a part that is not known here',
  'model-invalid': 'The files of a model do not fit together',
  'gguf-invalid': 'A GGUF file is malformed',
} as const;

/** One of the codes in {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;
