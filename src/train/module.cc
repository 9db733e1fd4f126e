// What the training library exports.
#include <filesystem>

#include "train/checkpoint.h"
#include "train/data.h"
#include "train/device.h"
#include "train/job.h"
#include "train/predict.h"
#include "train/tensor_memory.h"
#include "train/trainer.h"

namespace plimsoll::train {
namespace {

int run_training(const TrainJob& job) {
  const TensorMemory tensors(job.ledger);
  const c10::Device device = choose_device(job.run.device);
  std::filesystem::create_directories(job.save_dir);
  const Data data = load_data(job.store, job.ledger, job.run.threads, job.run.quiet);
  Trainer trainer(job, data, device);
  return trainer.run();
}

recipe::Recipe read_recipe(const std::filesystem::path& checkpoint) {
  return read_checkpoint(checkpoint).recipe;
}

}  // namespace
}  // namespace plimsoll::train

extern "C" const plimsoll::train::Module* plimsoll_train_module() {
  static constexpr plimsoll::train::Module kModule = {plimsoll::train::run_training,
                                                      plimsoll::train::predict,
                                                      plimsoll::train::read_recipe};
  return &kModule;
}
