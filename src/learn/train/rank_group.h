// The ranks of a run, connected by c10d: its TCPStore to meet and to beat, its Gloo to add up
// gradients. If one rank ends, all end: a rank that waits here for another throws Error{lost}
// within ten seconds after that rank was killed, was stopped, hung or lost its host.
//
// c10d cannot interrupt an operation that waits for a rank that does not answer. After a loss it is
// left behind with its threads, and the process must end soon.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "ranks/group.h"

namespace plimsoll::train {

class RankGroup final : public ranks::Group {
 public:
  // Meets the other ranks. Throws Error{lost} that names those that did not come in time.
  RankGroup(const ranks::RankPlace& place, const ranks::GroupOptions& options);
  ~RankGroup() override;

  const ranks::RankPlace& place() const override;
  const std::vector<ranks::RankProcess>& processes() const override;
  std::vector<std::string> exchange(const std::string& mine) override;
  bool give_up(const std::string& why) noexcept override;
  void leave() override;
  void progress() override;
  bool first_is_lost() const override;

  // The sum over all ranks, in place: floats or doubles in memory, with the same bits on every
  // rank.
  void sum(at::Tensor& values);
  // The values of one rank, in place.
  void broadcast(at::Tensor& values, unsigned from = 0);

 private:
  class Connections;
  std::unique_ptr<Connections> connections_;
};

}  // namespace plimsoll::train
