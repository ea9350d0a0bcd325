/**
 * @file A device without memory for large buffers: what one that is full answers, at the sizes of a test.
 */

/** See WebGPU: the class is not global in Node, and goes by its name. */
class GPUOutOfMemoryError {
  readonly message = 'no memory left (a test)';
}

/** Makes a device give no buffers of more than `most` bytes while `isFull` says so. */
export function failingDevice(device: GPUDevice, most: number, isFull: () => boolean): GPUDevice {
  const { limits } = device;
  const create = device.createBuffer.bind(device);
  const [push, pop] = [device.pushErrorScope.bind(device), device.popErrorScope.bind(device)];
  let refused = false;
  device.createBuffer = (descriptor) => {
    if (descriptor.size <= most || !isFull()) return create(descriptor);
    refused = true;
    push('validation');
    // An invalid buffer, as one without memory is.
    const buffer = create({ ...descriptor, size: limits.maxBufferSize * 2 });
    void pop();
    return buffer;
  };
  device.popErrorScope = async () => {
    const mine = refused;
    refused = false;
    const error = await pop();
    return mine ? (new GPUOutOfMemoryError() as unknown as GPUError) : error;
  };
  return device;
}
