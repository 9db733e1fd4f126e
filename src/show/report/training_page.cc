// The page of a training: what it learned, what it held in memory against the limit, where its time
// went, and how to repeat it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/units.h"
#include "plot/axis.h"
#include "report/bodies.h"
#include "statistics/sample.h"

namespace plimsoll::report {
namespace {

using launch::EpochRecord;
using launch::TrainingDiary;
using launch::TrainingRecord;
using plot::Quantity;

constexpr size_t kCurvesAtMost = 8;  // in one chart: more cannot be told apart

std::string mean_text(const std::vector<double>& values, double factor) {
  std::vector<double> scaled;
  scaled.reserve(values.size());
  for (const double value : values) scaled.push_back(value * factor);
  const auto moments = statistics::moments_of(scaled);
  return statistics::format_spread(moments.mean, moments.deviation);
}

double epoch_seconds(const TrainingRecord& record) {
  double sum = 0;
  size_t count = 0;
  for (const EpochRecord& epoch : record.series) {
    if (!epoch.seconds) continue;
    sum += *epoch.seconds;
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

std::string limit_note(const OneTraining& one) {
  if (!one.diary || one.diary->limit_bytes == 0) return {};
  return fmt::format("of {} allowed", format_bytes(one.diary->limit_bytes));
}

Fact gpu_fact(const OneTraining& one) {
  if (!one.diary || !one.diary->gpu) return {"GPU memory", ""};
  const launch::GpuRecord& gpu = *one.diary->gpu;
  return {"GPU memory", format_bytes(gpu.peak_bytes),
          fmt::format("of {} allowed", format_bytes(gpu.limit_bytes))};
}

std::string headline(const OneTraining& one) {
  const TrainingRecord& record = one.record;
  const double per_epoch = epoch_seconds(record);
  return tiles(
      {{"validation", record.valid_accuracy ? accuracy_text(record.valid_accuracy) : "",
        fmt::format("best, epoch {}", record.best_epoch)},
       {"test", record.test_accuracy ? accuracy_text(record.test_accuracy) : "",
        "at the best epoch"},
       {"epochs", format_count(record.series.empty() ? 0 : record.series.back().epoch),
        fmt::format("of {} asked", format_count(record.recipe.epochs))},
       {"time", record.seconds ? format_seconds(*record.seconds) : "",
        per_epoch > 0 ? fmt::format("{} an epoch", plot::value_text(Quantity::seconds, per_epoch))
                      : ""},
       {"peak memory", record.peak_memory_bytes > 0 ? format_bytes(record.peak_memory_bytes) : "",
        limit_note(one)},
       gpu_fact(one),
       {"speed",
        record.batches_per_second && *record.batches_per_second > 0
            ? fmt::format("{:.3g}", *record.batches_per_second)
            : "",
        "batches a second"}});
}

// "3 seeds", "2 finished seeds of 3".
std::string seeds_that_count(const AccuracyTexts& accuracy, size_t seeds) {
  if (accuracy.finished == seeds) return counted(seeds, "seed");
  return fmt::format("{} of {}", counted(accuracy.finished, "finished seed"), seeds);
}

std::string seeds_headline(const TrainingData& data) {
  const AccuracyTexts accuracy = accuracies_of(data);
  const std::string mean_of = accuracy.finished == 0
                                  ? std::string("no seed has finished")
                                  : "mean of " + seeds_that_count(accuracy, data.trainings.size());
  double seconds = 0;
  uint64_t peak_bytes = 0;
  size_t ended = 0;
  for (const OneTraining& one : data.trainings) {
    seconds += one.record.seconds.value_or(0);
    peak_bytes = std::max(peak_bytes, one.record.peak_memory_bytes);
    if (!one.running) ++ended;
  }
  return tiles({{"validation", accuracy.valid, mean_of},
                {"test", accuracy.test, mean_of},
                {"seeds", format_count(data.trainings.size()),
                 ended < data.trainings.size() ? fmt::format("{} ended", format_count(ended)) : ""},
                {"time", seconds > 0 ? format_seconds(seconds) : "", "of all seeds"},
                {"peak memory", peak_bytes > 0 ? format_bytes(peak_bytes) : "",
                 limit_note(data.trainings.front())}});
}

std::string progress_of(const OneTraining& one) {
  if (!one.running || !one.diary) return {};
  const TrainingDiary& diary = *one.diary;
  const double within =
      diary.batches > 0 ? static_cast<double>(diary.batch) / static_cast<double>(diary.batches) : 0;
  const auto epochs = static_cast<double>(std::max<uint64_t>(1, one.record.recipe.epochs));
  const double done = std::min(
      1.0, (static_cast<double>(std::max<uint64_t>(diary.epoch, 1)) - 1 + within) / epochs);
  const std::string text =
      fmt::format("epoch {} of {}, batch {} of {}{}", diary.epoch, one.record.recipe.epochs,
                  format_count(diary.batch), format_count(diary.batches),
                  diary.loss ? fmt::format(", loss {:.4f}", *diary.loss) : "");
  return fmt::format(
      "<p class=\"progress\"><progress max=\"1\" value=\"{:.4f}\" "
      "aria-label=\"progress\"></progress> "
      "{}</p>\n",
      done, escaped(text));
}

std::string seed_table(const TrainingData& data) {
  if (data.trainings.size() < 2) return {};
  HtmlTable seeds{
      .caption = "seeds",
      .columns = {"seed", "best epoch", "validation", "test", "time", "peak memory", "state"},
      .rows = {}};
  for (const OneTraining& one : data.trainings) {
    const TrainingRecord& record = one.record;
    seeds.rows.push_back({fmt::format("{}", record.recipe.seed),
                          fmt::format("{}", record.best_epoch),
                          accuracy_text(record.valid_accuracy), accuracy_text(record.test_accuracy),
                          record.seconds ? format_seconds(*record.seconds) : "-",
                          format_bytes(record.peak_memory_bytes), state_of(one)});
  }
  const AccuracyTexts accuracy = accuracies_of(data);
  if (accuracy.finished == 0) return table(seeds);
  return paragraph(fmt::format("Mean ± standard deviation: validation {}, test {}, over {}.",
                               accuracy.valid, accuracy.test,
                               seeds_that_count(accuracy, data.trainings.size()))) +
         table(seeds);
}

bool varies(const plot::ChartCurve& curve) {
  const auto differs = [&](const plot::ChartPoint& point) {
    return std::isfinite(point.y) && point.y != curve.points.front().y;
  };
  return !curve.points.empty() && std::ranges::any_of(curve.points, differs);
}

std::string curves_of(const TrainingData& data) {
  if (data.trainings.front().record.series.empty()) {
    return note("No epoch has ended yet.");
  }
  const bool several = data.trainings.size() > 1;
  const auto add_all = [&](plot::Chart& chart, EpochFigure what, const std::string& what_name) {
    for (size_t i = 0; i < std::min(kCurvesAtMost, data.trainings.size()); ++i) {
      const TrainingRecord& record = data.trainings[i].record;
      chart.curves.push_back(epoch_curve(
          record, what, several ? fmt::format("seed {}", record.recipe.seed) : what_name));
      if (chart.curves.back().points.empty()) chart.curves.pop_back();
    }
  };
  std::vector<std::string> all;
  plot::Chart loss = epoch_chart(EpochFigure::loss);
  add_all(loss, EpochFigure::loss, "training loss");
  if (!loss.curves.empty()) all.push_back(figure(loss));
  plot::Chart valid = epoch_chart(EpochFigure::valid);
  add_all(valid, EpochFigure::valid, "validation");
  plot::Chart test = epoch_chart(EpochFigure::test);
  if (several) {
    add_all(test, EpochFigure::test, "test");
  } else {
    valid.title = "Accuracy";
    add_all(valid, EpochFigure::test, "test");
  }
  if (!valid.curves.empty()) all.push_back(figure(valid));
  if (!test.curves.empty()) all.push_back(figure(test));
  plot::Chart seconds = epoch_chart(EpochFigure::seconds);
  add_all(seconds, EpochFigure::seconds, "epoch");
  if (!seconds.curves.empty()) all.push_back(figure(seconds));
  plot::Chart rate = epoch_chart(EpochFigure::lr);
  add_all(rate, EpochFigure::lr, "learning rate");
  if (!rate.curves.empty() && std::ranges::any_of(rate.curves, varies)) all.push_back(figure(rate));
  return figures(all);
}

// The time that threads waited for reads in an epoch and its evaluation. A resumed training counts
// the reads of its last process, and its batches say how many epochs these were.
std::optional<double> read_seconds(const OneTraining& one) {
  const TrainingRecord& record = one.record;
  if (!record.disk.seconds || record.disk.reads == 0) return std::nullopt;
  if (!one.diary || one.diary->batches == 0 || record.batches_run == 0) return std::nullopt;
  return *record.disk.seconds * static_cast<double>(one.diary->batches) /
         static_cast<double>(record.batches_run);
}

using Bar = std::vector<std::optional<double>>;

Bar milliseconds(const std::optional<double>& value) {
  return {value ? std::optional(*value / 1000) : std::nullopt};
}

// The two kinds of threads that make and compute batches.
std::vector<std::string> stage_figures(const TrainingRecord& record) {
  const launch::StageRecord& stages = *record.stages;
  const auto ms = milliseconds;
  const plot::BarChart workers{
      .title = record.workers > 1 ? fmt::format("Making a batch, in {} workers", record.workers)
                                  : std::string("Making a batch, in one worker"),
      .summary = "",
      .value = {.label = "time", .quantity = Quantity::seconds},
      .series = {"time"},
      .bars = {{"draw neighbours", ms(stages.sample)}, {"gather rows", ms(stages.gather)}}};
  const plot::BarChart thread{.title = "Training on a batch",
                              .summary = "",
                              .value = {.label = "time", .quantity = Quantity::seconds},
                              .series = {"time"},
                              .bars = {{"forward", ms(stages.forward)},
                                       {"backward", ms(stages.backward)},
                                       {"optimizer step", ms(stages.step)},
                                       {"wait for a batch", ms(stages.waiting)}}};
  return {figure(workers), figure(thread)};
}

std::string time_of(const OneTraining& one) {
  const TrainingRecord& record = one.record;
  if (!record.stages) {
    return note(one.running ? "Where the time goes is known when the training ends."
                            : "Where the time went was not recorded.");
  }
  const bool by_gpu = !record.stages->sample;
  std::vector<std::string> all;
  if (!by_gpu) all = stage_figures(record);
  if (record.planned_epoch_seconds || !record.series.empty()) {
    const double batches_per_second = record.batches_per_second.value_or(0);
    std::optional<double> training;
    if (one.diary && one.diary->batches > 0 && batches_per_second > 0) {
      training = static_cast<double>(one.diary->batches) / batches_per_second;
    }
    plot::BarChart epoch{.title = "An epoch, planned and measured",
                         .summary = "",
                         .value = {.label = "time", .quantity = Quantity::seconds},
                         .series = {"time"},
                         .bars = {{"planned", {record.planned_epoch_seconds}},
                                  {"measured", {training}},
                                  {"with evaluation", {epoch_seconds(record)}}}};
    if (by_gpu && training && record.disk.reads > 0) {
      epoch.bars.push_back(
          {"wait for the disk",
           {static_cast<double>(one.diary->batches) * record.stages->waiting / 1000}});
    }
    if (const auto reads = read_seconds(one)) {
      epoch.bars.push_back({"reads, all threads", {reads}});
    }
    all.push_back(figure(epoch));
  }
  return paragraph(
             by_gpu ? "The GPU draws, gathers and computes a batch in one go, so these steps have "
                      "no times of their own."
                    : "Times are averages over the batches. The workers make batches while the "
                      "training thread computes, so the first two figures overlap: a long wait "
                      "means that making batches is the bottleneck.") +
         figures(all);
}

std::string reads_of(const TrainingRecord& record) {
  const launch::DiskRecord& disk = record.disk;
  if (disk.reads == 0) {
    return paragraph(
        "Nothing was read from disk while batches were made: all rows and lists were "
        "in memory.");
  }
  // A GPU that makes the batches does not count the rows that they need.
  const uint64_t rows = disk.rows.value_or(0);
  const double missing = static_cast<double>(std::min(disk.rows_on_disk, rows)) /
                         static_cast<double>(std::max<uint64_t>(1, rows));
  return fact_list(
      {{"reads", format_count(disk.reads), "by " + disk.method},
       {"bytes", format_bytes(disk.bytes)},
       {"an average read", format_bytes(disk.bytes / disk.reads)},
       {"rows that batches needed", rows > 0 ? format_count(rows) : ""},
       {rows > 0 ? "of these on disk" : "rows from disk", format_count(disk.rows_on_disk),
        rows > 0 ? format_percent(missing) : ""},
       {"waited for reads", disk.seconds ? plot::value_text(Quantity::seconds, *disk.seconds) : "",
        "training and evaluation, summed over threads"}});
}

std::string recipe_of(const TrainingRecord& record) {
  std::vector<Fact> facts;
  const nlohmann::ordered_json settings = recipe::to_json(record.recipe);
  for (const auto& [key, value] : settings.items()) {
    facts.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return paragraph("Everything that decides what is learned.") + fact_columns(facts);
}

std::string repeat_of(const OneTraining& one) {
  if (!one.diary || one.diary->command.empty()) {
    return note("The command line was not recorded.");
  }
  return paragraph(fmt::format("Run in {}:", one.diary->working_folder)) +
         command(one.diary->command);
}

std::string machine_of(const OneTraining& one) {
  const TrainingRecord& record = one.record;
  std::vector<Fact> facts;
  if (one.diary) {
    const TrainingDiary& diary = *one.diary;
    facts = {{"host", diary.host},
             {"CPU", diary.cpu},
             {"CPUs", diary.cpus > 0 ? format_count(diary.cpus) : "",
              fmt::format("{} used", counted(diary.threads, "thread"))},
             {"RAM", diary.ram_bytes > 0 ? format_bytes(diary.ram_bytes) : ""},
             {"system", diary.kernel},
             {"store", counted(diary.store_nodes, "node"),
              fmt::format("{}, {}", counted(diary.store_edges, "edge"),
                          format_bytes(diary.store_bytes))}};
  }
  const bool by_gpu = one.diary && one.diary->gpu;
  facts.push_back({"device", record.device, by_gpu ? one.diary->gpu->name : ""});
  facts.push_back({"store checksum", record.store_checksum});
  std::string html = one.diary ? "" : note("The machine was not recorded.");
  html += fact_list(facts);
  if (record.ranks.empty()) return html;
  HtmlTable ranks{
      .caption = "ranks", .columns = {"rank", "host", "device", "peak memory"}, .rows = {}};
  for (const auto& rank : record.ranks) {
    ranks.rows.push_back({fmt::format("{}", rank.rank), rank.host, rank.device,
                          format_bytes(rank.peak_memory_bytes)});
  }
  return html + table(ranks);
}

}  // namespace

std::string accuracy_text(const std::optional<double>& accuracy) {
  return accuracy ? fmt::format("{:.2f} %", 100 * *accuracy) : "-";
}

AccuracyTexts accuracies_of(const TrainingData& data) {
  std::vector<TrainingRecord> records;
  for (const OneTraining& one : data.trainings) records.push_back(one.record);
  // A seed that is not finished has fewer epochs: its accuracy says nothing about the recipe.
  if (records.size() > 1) records = launch::ended_of(records);
  std::vector<double> valid, test;
  for (const TrainingRecord& record : records) {
    if (record.valid_accuracy) valid.push_back(*record.valid_accuracy);
    if (record.test_accuracy) test.push_back(*record.test_accuracy);
  }
  const auto text = [](const std::vector<double>& all) {
    if (all.size() < 2) return accuracy_text(all.empty() ? std::nullopt : std::optional(all[0]));
    return mean_text(all, 100) + " %";
  };
  return {text(valid), text(test), records.size()};
}

plot::ChartCurve epoch_curve(const TrainingRecord& record, EpochFigure what,
                             const std::string& name) {
  plot::ChartCurve curve{.name = name, .points = {}};
  for (const EpochRecord& epoch : record.series) {
    std::optional<double> value;
    switch (what) {
      case EpochFigure::loss:
        value = epoch.loss;
        break;
      case EpochFigure::valid:
        value = epoch.valid_accuracy;
        break;
      case EpochFigure::test:
        value = epoch.test_accuracy;
        break;
      case EpochFigure::seconds:
        value = epoch.seconds;
        break;
      case EpochFigure::lr:
        value = epoch.lr;
        break;
    }
    if (value) curve.points.push_back({static_cast<double>(epoch.epoch), *value});
  }
  return curve;
}

plot::Chart epoch_chart(EpochFigure what) {
  plot::Chart chart{.title = "",
                    .summary = "",
                    .x = {.label = "epoch", .quantity = Quantity::count},
                    .y = {},
                    .curves = {}};
  switch (what) {
    case EpochFigure::loss:
      chart.title = "Training loss";
      chart.y = {.label = "loss", .logarithmic = true};
      break;
    case EpochFigure::valid:
      chart.title = "Validation accuracy";
      chart.y = {.label = "accuracy", .quantity = Quantity::share};
      break;
    case EpochFigure::test:
      chart.title = "Test accuracy";
      chart.y = {.label = "accuracy", .quantity = Quantity::share};
      break;
    case EpochFigure::seconds:
      chart.title = "Time of an epoch, with its evaluation";
      chart.y = {.label = "time", .quantity = Quantity::seconds, .from_zero = true};
      break;
    case EpochFigure::lr:
      chart.title = "Learning rate";
      chart.y = {.label = "learning rate", .from_zero = true};
      break;
  }
  return chart;
}

std::string training_body(const TrainingData& data, Depth depth) {
  const OneTraining& one = data.trainings.front();
  const TrainingRecord& record = one.record;
  std::string html = heading(depth, 0, data.found.name);
  html += fmt::format("<p class=\"lead\">{} {}: {}</p>\n", badge(state_of(one)),
                      escaped(record.dataset), escaped(describe(record.recipe)));
  html += progress_of(one);
  html += data.trainings.size() > 1 ? seeds_headline(data) : headline(one);
  html += section(depth, "Seeds", seed_table(data));
  html += section(depth, "Curves", curves_of(data));
  const std::string whose =
      data.trainings.size() > 1 ? fmt::format(" of seed {}", record.recipe.seed) : "";
  html += section(depth, "Memory" + whose, memory_html(one));
  html += section(depth, "Where the time went" + whose, time_of(one));
  html += section(depth, "Reads" + whose, reads_of(record));
  html += section(depth, data.trainings.size() > 1 ? "Repeat" + whose.substr(3) : "Repeat it",
                  repeat_of(one));
  html += section(depth, "Recipe" + whose, recipe_of(record));
  html += section(depth, "Machine", machine_of(one));
  return html;
}

}  // namespace plimsoll::report
