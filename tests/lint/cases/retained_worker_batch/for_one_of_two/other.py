from evaluate import evaluate

if __name__ == "__main__":
    evaluate([2])
